import { useEffect, useState } from 'react';
import type { PluginPage } from '../frame/plugin-pages.ts';
import { lazy } from '../interface/lazy.tsx';
import { PartBoundary } from '../interface/part-boundary.tsx';
import type { ModelInfo } from '../server/model-info.ts';
import type { RowMeta } from '../server/read-table.ts';
import { texts } from '../texts/texts.ts';

const ActionMenu = lazy(() => import('./action-menu.tsx'), null);
const ActionDialog = lazy(() => import('./action-dialog.tsx'), null);

/** Objects whose actions a user wants to see, and the button that the menu belongs to. */
export interface ChosenObjects {
  rows: readonly RowMeta[];
  trigger: HTMLElement;
}

interface ObjectActionsProps {
  model: ModelInfo;
  /** Of a list, the namespace that it shows; empty for all. */
  namespace: string;
  actions: readonly PluginPage[];
  /** Undefined: no menu is open. */
  chosen: ChosenObjects | undefined;
  onClose: () => void;
}

/** The menu of what plugins do with objects, and the dialog of what was chosen from it. */
export function ObjectActions({ model, namespace, actions, chosen, onClose }: ObjectActionsProps) {
  const [run, setRun] = useState<({ page: PluginPage } & ChosenObjects) | undefined>(undefined);
  // The dialog would give the focus back to its item of the menu, which is gone.
  useEffect(() => (run === undefined ? undefined : () => run.trigger.focus()), [run]);
  return (
    <PartBoundary place={run?.page.name ?? ''}>
      {chosen === undefined ? undefined : (
        <ActionMenu
          model={model}
          namespace={namespace}
          actions={actions}
          chosen={chosen}
          onChoose={(page) => {
            setRun({ page, ...chosen });
            onClose();
          }}
          onClose={onClose}
        />
      )}
      {run === undefined ? undefined : (
        <ActionDialog page={run.page} model={model} rows={run.rows} onClose={() => setRun(undefined)} />
      )}
    </PartBoundary>
  );
}

interface ActionsButtonProps extends Omit<ObjectActionsProps, 'chosen' | 'onClose'> {
  rows: readonly RowMeta[];
}

/** For an object, or for selected ones. Without an action there is no button; a dialog that is open stays. */
export function ActionsButton({ rows, actions, ...props }: ActionsButtonProps) {
  const [chosen, setChosen] = useState<ChosenObjects | undefined>(undefined);
  const fitting = actionsFor(actions, rows.length);
  return (
    <>
      {fitting.length === 0 ? undefined : (
        <button
          type="button"
          className="button plain"
          aria-haspopup="menu"
          aria-expanded={chosen !== undefined}
          onClick={({ currentTarget }) => setChosen({ rows, trigger: currentTarget })}
        >
          {texts.actions.open}
        </button>
      )}
      <ObjectActions {...props} actions={fitting} chosen={chosen} onClose={() => setChosen(undefined)} />
    </>
  );
}

function actionsFor(actions: readonly PluginPage[], count: number): readonly PluginPage[] {
  return count === 1 ? actions : actions.filter(({ isForOne }) => !isForOne);
}
