import { useState } from 'react';
import { ActionButton } from '../interface/action-button.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { PageDialog } from '../interface/page-dialog.tsx';
import { missingRule } from '../server/missing-rule.ts';
import { resourceOf } from '../server/model-info.ts';
import { usePermissions } from '../server/permissions.ts';
import { pluginInfo, type PluginObject } from '../server/plugin-info.ts';
import { texts } from '../texts/texts.ts';

/** Enables a plugin, or disables it after a question. */
export function PluginSwitch({ plugin }: { plugin: PluginObject }) {
  const { name } = plugin.metadata;
  const title = plugin.spec.displayName ?? name;
  const isEnabled = plugin.spec.enabled === true;
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(undefined);
  const right = { verb: 'patch', model: pluginInfo, name };
  const missing = usePermissions('')(right) ? undefined : missingRule({ ...right, namespace: '' });
  const change = async (enabled: boolean): Promise<void> => {
    setBusy(true);
    setFailure(undefined);
    try {
      await resourceOf(pluginInfo).patch(name, { spec: { enabled } });
      setAsking(false);
    } catch (error) {
      setFailure(error);
    } finally {
      setBusy(false);
    }
  };
  const note = failure === undefined ? undefined : <FailureNote failure={failure} />;
  return (
    <>
      <ActionButton
        onAction={() => (isEnabled ? setAsking(true) : void change(true))}
        isDisabled={isBusy}
        missingRule={missing}
      >
        {isEnabled ? texts.plugins.disable(title) : texts.plugins.enable(title)}
      </ActionButton>
      {isAsking ? undefined : note}
      {isAsking ? (
        <PageDialog title={texts.plugins.disableTitle(title)} onClose={() => setAsking(false)}>
          <p>{texts.plugins.disableText}</p>
          {note}
          <div className="buttons">
            <button type="button" className="button danger" aria-disabled={isBusy} onClick={() => void change(false)}>
              {texts.plugins.disableConfirm}
            </button>
            <button type="button" className="button plain" onClick={() => setAsking(false)}>
              {texts.cancel}
            </button>
          </div>
        </PageDialog>
      ) : undefined}
    </>
  );
}
