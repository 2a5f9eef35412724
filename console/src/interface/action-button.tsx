import { useId, type ReactNode } from 'react';
import { texts } from '../texts/texts.ts';

export interface ActionButtonProps {
  children: ReactNode;
  onAction: () => void;
  /** Enter in a field of its form does the same. */
  isSubmit?: boolean;
  kind?: 'primary' | 'danger' | 'plain';
  isDisabled?: boolean;
  /** The accessible name, where the text is a sign. */
  label?: string;
  /** The rule that the user lacks: the button is shown, says so, and does nothing. */
  missingRule?: string | undefined;
  /** Why nobody can do it now: shown in the same way. */
  reason?: string | undefined;
}

/** A button that explains why it cannot be used, to the pointer, the keyboard and the screen reader alike. */
export function ActionButton({
  children,
  onAction,
  kind = 'plain',
  isSubmit = false,
  isDisabled = false,
  label,
  missingRule,
  reason,
}: ActionButtonProps) {
  const id = useId();
  const why = missingRule === undefined ? reason : texts.navigation.noRight(missingRule);
  const isOff = isDisabled || why !== undefined;
  return (
    <span className="action">
      <button
        type={isSubmit ? 'submit' : 'button'}
        className={`button ${kind}`}
        aria-label={label}
        aria-disabled={isOff}
        aria-describedby={why === undefined ? undefined : id}
        onClick={(event) => {
          event.preventDefault();
          if (!isOff) onAction();
        }}
      >
        {children}
      </button>
      {why === undefined ? undefined : (
        <span role="tooltip" id={id} className="reason">
          {why}
        </span>
      )}
    </span>
  );
}
