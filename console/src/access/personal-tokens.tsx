import { useState } from 'react';
import { ActionButton } from '../interface/action-button.tsx';
import { missingRule } from '../server/missing-rule.ts';
import { usePermissions } from '../server/permissions.ts';
import { texts } from '../texts/texts.ts';
import { send, tokensPath } from './access-api.ts';
import { CredentialSection, secretFollows, useDialogs, type HeadingLevel } from './credential-section.tsx';
import { FormDialog } from './form-dialog.tsx';
import { namesOf, timestampOf, type FormValues } from './record-form.tsx';
import { MissingNote } from './org-chooser.tsx';
import { RecordTable } from './record-table.tsx';
import { timeText } from './time-text.ts';
import { useRecord } from './use-records.ts';

const words = texts.access.credentials;

/** As the server has it. */
const maxTokens = 100;
const tokenModel = { group: 'uc.api.security.svc.run', plural: 'personalaccesstokens', namespaced: false };

interface PersonalToken {
  metadata: { name: string; creationTimestamp: string };
  spec: { displayName?: string; expiresAt?: string; roles?: string[]; revoked: boolean };
  status: { expired: boolean; lastUsed?: string; token?: string };
}

/** The user's own personal tokens, for the content platform. */
export function PersonalTokens({ level }: { level?: HeadingLevel }) {
  const [dialogs, dialog] = useDialogs();
  const may = usePermissions('');
  const missingFor = (verb: string, subresource?: string): string | undefined => {
    const plural = subresource === undefined ? tokenModel.plural : `${tokenModel.plural}/${subresource}`;
    const right = { verb, model: { ...tokenModel, plural } };
    return may(right) ? undefined : missingRule({ ...right, namespace: '' });
  };
  const missing = missingFor('list');
  const { value, failure, reload } = useRecord<{ items: PersonalToken[] }>(
    missing === undefined ? tokensPath : undefined,
  );
  const [refusal, setRefusal] = useState<unknown>(undefined);
  const pathOf = (name: string): string => `${tokensPath}/${encodeURIComponent(name)}`;
  const create = async (values: FormValues): Promise<void> => {
    const [displayName, expiresAt, roles] = [
      values['spec.displayName']!,
      values['spec.expiresAt']!,
      values['spec.roles']!,
    ];
    const expires = timestampOf(expiresAt);
    const spec = {
      ...(displayName === '' ? {} : { displayName }),
      ...(expires === null ? {} : { expiresAt: expires }),
      ...(roles === '' ? {} : { roles: namesOf(roles) }),
    };
    const { metadata, status } = await send<PersonalToken>('POST', tokensPath, { metadata: {}, spec });
    reload();
    dialogs.showSecret({
      title: words.newToken,
      facts: [[words.name, metadata.name]],
      text: status.token!,
    });
  };
  const openForm = (): void =>
    dialogs.open(
      <FormDialog
        title={words.createToken}
        submit={words.createTokenAction}
        fields={[
          { name: 'spec.displayName', label: words.purpose, hint: words.purposeHint },
          { name: 'spec.expiresAt', label: words.expires, kind: 'time', hint: words.expiresHint },
          { name: 'spec.roles', label: words.roles, hint: words.rolesHint },
        ]}
        onSubmit={create}
        onClose={dialogs.close}
        onDone={secretFollows}
      />,
    );
  const after = (work: Promise<unknown>): Promise<void> => work.then(reload);
  const askToRevoke = (name: string): void =>
    dialogs.ask({
      title: words.revokeTitle(name),
      text: words.revokeText,
      action: words.revoke,
      act: () => after(send('PUT', `${pathOf(name)}/actions/revocation`)),
    });
  const askToDelete = (name: string): void =>
    dialogs.ask({
      title: words.deleteTokenTitle(name),
      text: words.deleteTokenText,
      action: words.remove,
      act: () => after(send('DELETE', pathOf(name))),
    });
  const restore = (name: string): void =>
    void after(send('PUT', `${pathOf(name)}/actions/restoration`)).then(() => setRefusal(undefined), setRefusal);
  return (
    <CredentialSection
      id="tokens"
      title={words.tokens}
      intro={words.tokensIntro}
      level={level}
      action={{
        text: words.createToken,
        act: openForm,
        missingRule: missingFor('create'),
        reason: (value?.items.length ?? 0) < maxTokens ? undefined : words.tooManyTokens(maxTokens),
      }}
      failure={failure ?? refusal}
      path={tokensPath}
    >
      {missing === undefined ? undefined : <MissingNote rule={missing} />}
      {value === undefined ? undefined : (
        <RecordTable
          label={words.tokens}
          records={value.items}
          keyOf={({ metadata }) => metadata.name}
          empty={words.noTokens}
          columns={[
            { title: words.name, cell: ({ metadata }) => metadata.name },
            { title: words.purpose, cell: ({ spec }) => spec.displayName },
            { title: words.state, cell: (token) => <TokenState token={token} /> },
            { title: words.roles, cell: ({ spec }) => spec.roles?.join(', ') ?? words.allRoles },
            { title: words.created, cell: ({ metadata }) => timeText(metadata.creationTimestamp) },
            { title: words.expires, cell: ({ spec }) => timeText(spec.expiresAt) },
            { title: words.lastUsed, cell: ({ status }) => timeText(status.lastUsed) },
            {
              title: words.actions,
              cell: ({ metadata: { name }, spec }) => (
                <span className="row-actions">
                  {spec.revoked ? (
                    <ActionButton onAction={() => restore(name)} missingRule={missingFor('update', 'actions')}>
                      {words.restore}
                    </ActionButton>
                  ) : (
                    <ActionButton onAction={() => askToRevoke(name)} missingRule={missingFor('update', 'actions')}>
                      {words.revoke}
                    </ActionButton>
                  )}
                  <ActionButton onAction={() => askToDelete(name)} missingRule={missingFor('delete')}>
                    {words.remove}
                  </ActionButton>
                </span>
              ),
            },
          ]}
        />
      )}
      {dialog}
    </CredentialSection>
  );
}

function TokenState({ token: { spec, status } }: { token: PersonalToken }) {
  const state = spec.revoked ? 'revoked' : status.expired ? 'expired' : 'valid';
  return <span className={`state ${state === 'valid' ? 'good' : 'bad'}`}>{words[state]}</span>;
}
