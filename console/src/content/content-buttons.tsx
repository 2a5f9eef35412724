import { connect } from '@svc/client';
import { useState } from 'react';
import { fetchForPage, type PageButton } from '../frame/plugin-pages.ts';
import { ActionButton } from '../interface/action-button.tsx';
import { ConfirmDialog } from '../interface/confirm-dialog.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { missingRule } from '../server/missing-rule.ts';
import { usePermissions, type Right } from '../server/permissions.ts';
import { texts } from '../texts/texts.ts';

type Outcome = { text: string } | { failure: unknown };

/** What they send was chosen by the plugin, so it goes in the name of the page. */
export function ContentButtons({ page, buttons }: { page: string; buttons: readonly PageButton[] }) {
  const [asked, setAsked] = useState<PageButton | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | undefined>(undefined);
  const may = usePermissions('');

  const send = async ({ label, path, body, done = texts.content.done(label) }: PageButton): Promise<void> => {
    setOutcome(undefined);
    setBusy(true);
    try {
      const server = connect({ fetch: fetchForPage(page) });
      const answer = await server.send(path, { method: 'POST', ...(body === undefined ? {} : { body }) });
      setOutcome({ text: messageIn(answer) ?? done });
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
          const right = rightOf(button.path);
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
      {asked?.confirm === undefined ? undefined : (
        <ConfirmDialog
          question={{ title: asked.label, text: asked.confirm, action: asked.label, act: () => send(asked) }}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  );
}

/** Of a POST to `/apis/<group>/<version>/<resource>/<name>/<subresource>`. */
function rightOf(path: string): Right {
  const [, , group = '', , resource = '', name, subresource] = path.split('/');
  const plural = subresource === undefined ? resource : `${resource}/${subresource}`;
  const model = { group, plural, namespaced: false };
  return { verb: 'create', model, namespace: '', ...(name === undefined ? {} : { name }) };
}

const maxMessageLength = 1000;

function messageIn(answer: unknown): string | undefined {
  const { message } = (answer ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message.slice(0, maxMessageLength) : undefined;
}
