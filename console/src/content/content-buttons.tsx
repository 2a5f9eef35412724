import { useState } from 'react';
import type { PageButton, PluginPage } from '../frame/plugin-pages.ts';
import { rightOf, sendRequest } from '../frame/plugin-request.ts';
import { RequestWords } from '../frame/request-words.tsx';
import type { TargetObject } from '../frame/target-object.ts';
import { ActionButton } from '../interface/action-button.tsx';
import { ConfirmDialog } from '../interface/confirm-dialog.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { useWarnings } from '../interface/use-warnings.ts';
import { WarningNotes } from '../interface/warning-notes.tsx';
import { missingRule } from '../server/missing-rule.ts';
import { usePermissions } from '../server/permissions.ts';
import { texts } from '../texts/texts.ts';

type Outcome = { text: string } | { failure: unknown };

interface ContentButtonsProps {
  page: Pick<PluginPage, 'name' | 'plugin'>;
  buttons: readonly PageButton[];
  /** Whose tab it is. */
  object: TargetObject | undefined;
}

/** What they send was chosen by the plugin, so it goes in the name of the page. */
export function ContentButtons({ page, buttons, object }: ContentButtonsProps) {
  const [asked, setAsked] = useState<PageButton | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | undefined>(undefined);
  const { warnings, noteWarnings } = useWarnings();
  const mayAnywhere = usePermissions('');
  const mayHere = usePermissions(object?.namespace ?? '');

  const send = async (button: PageButton): Promise<void> => {
    const { label, done = texts.content.done(label) } = button;
    setOutcome(undefined);
    setBusy(true);
    try {
      const message = await noteWarnings((warn) => sendRequest(page.name, button, object, warn));
      setOutcome({ text: message ?? done });
    } finally {
      setBusy(false);
    }
  };
  const press = (button: PageButton): void => {
    if (button.confirm === undefined) send(button).catch((failure: unknown) => setOutcome({ failure }));
    else setAsked(button);
  };
  return (
    <>
      <div className="buttons">
        {buttons.map((button) => {
          const right = rightOf(button, object);
          const may = right.namespace === '' ? mayAnywhere : mayHere;
          return (
            <ActionButton
              key={button.label}
              onAction={() => press(button)}
              isDisabled={isBusy}
              missingRule={may(right) ? undefined : missingRule(right)}
            >
              {button.label}
            </ActionButton>
          );
        })}
      </div>
      <div role="status">
        {outcome !== undefined && 'text' in outcome ? <p className="note good">{outcome.text}</p> : undefined}
      </div>
      {outcome !== undefined && 'failure' in outcome ? <FailureNote failure={outcome.failure} /> : undefined}
      <WarningNotes warnings={warnings} />
      {asked === undefined ? undefined : (
        <ConfirmDialog
          question={{
            title: texts.frame.titleOf(asked.label, page.plugin),
            text: <RequestWords page={page} request={asked} target={object} />,
            action: asked.label,
            act: () => send(asked),
          }}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  );
}
