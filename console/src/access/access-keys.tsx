import { useState } from 'react';
import { ActionButton } from '../interface/action-button.tsx';
import { texts } from '../texts/texts.ts';
import { keysPath, onePath, send } from './access-api.ts';
import { CredentialSection, secretFollows, useDialogs, type HeadingLevel } from './credential-section.tsx';
import { FormDialog } from './form-dialog.tsx';
import { namesOf, type FormValues } from './record-form.tsx';
import { RecordTable } from './record-table.tsx';
import { timeText } from './time-text.ts';
import { useRecord } from './use-records.ts';

const words = texts.access.credentials;

/** As the server has it. */
const maxKeys = 10;

interface AccessKey {
  id: string;
  ip_group: string[];
  is_active: boolean;
  date_created: string;
  date_last_used: string | null;
  secret?: string;
}

/** The user's own access keys, for access management. */
export function AccessKeys({ level }: { level?: HeadingLevel }) {
  const [dialogs, dialog] = useDialogs();
  const { value, failure, reload } = useRecord<AccessKey[]>(keysPath);
  const [refusal, setRefusal] = useState<unknown>(undefined);
  const bodyOf = ({ ip_group: addresses = '' }: FormValues): object => ({ ip_group: namesOf(addresses) });
  const addressField = (addresses: string) =>
    ({
      name: 'ip_group',
      label: words.addresses,
      hint: words.addressesHint,
      kind: 'lines',
      isRequired: true,
      value: addresses,
    }) as const;
  const openForm = (): void =>
    dialogs.open(
      <FormDialog
        title={words.createKey}
        submit={words.createKeyAction}
        fields={[addressField('*')]}
        onSubmit={async (values) => {
          const { id, secret } = await send<AccessKey>('POST', keysPath, bodyOf(values));
          reload();
          dialogs.showSecret({ title: words.newKey, facts: [[words.id, id]], text: secret! });
        }}
        onClose={dialogs.close}
        onDone={secretFollows}
      />,
    );
  const openAddresses = ({ id, ip_group: addresses }: AccessKey): void =>
    dialogs.open(
      <FormDialog
        title={words.changeAddresses}
        submit={words.save}
        fields={[addressField(addresses.join('\n'))]}
        onSubmit={async (values) => {
          await send('PATCH', onePath(keysPath, id), bodyOf(values));
          reload();
        }}
        onClose={dialogs.close}
      />,
    );
  const setActive = ({ id }: AccessKey, isActive: boolean): void =>
    void send('PATCH', onePath(keysPath, id), { is_active: isActive })
      .then(reload)
      .then(() => setRefusal(undefined), setRefusal);
  const askToDelete = ({ id }: AccessKey): void =>
    dialogs.ask({
      title: words.deleteKeyTitle,
      text: words.deleteKeyText(id),
      action: words.remove,
      act: () => send('DELETE', onePath(keysPath, id)).then(reload),
    });
  return (
    <CredentialSection
      id="keys"
      title={words.keys}
      intro={words.keysIntro}
      level={level}
      action={{
        text: words.createKey,
        act: openForm,
        reason: (value?.length ?? 0) < maxKeys ? undefined : words.tooManyKeys(maxKeys),
      }}
      failure={failure ?? refusal}
      path={keysPath}
    >
      {value === undefined ? undefined : (
        <RecordTable
          label={words.keys}
          records={value}
          keyOf={({ id }) => id}
          empty={words.noKeys}
          columns={[
            { title: words.id, cell: ({ id }) => <code>{id}</code> },
            {
              title: words.state,
              cell: ({ is_active: isActive }) => (
                <span className={`state ${isActive ? 'good' : 'bad'}`}>{isActive ? words.valid : words.disabled}</span>
              ),
            },
            { title: words.addresses, cell: ({ ip_group: addresses }) => addresses.join(', ') },
            { title: words.created, cell: ({ date_created: date }) => timeText(date) },
            { title: words.lastUsed, cell: ({ date_last_used: date }) => timeText(date) },
            {
              title: words.actions,
              cell: (key) => (
                <span className="row-actions">
                  <ActionButton onAction={() => openAddresses(key)}>{words.addressesAction}</ActionButton>
                  <ActionButton onAction={() => setActive(key, !key.is_active)}>
                    {key.is_active ? words.disable : words.enable}
                  </ActionButton>
                  <ActionButton onAction={() => askToDelete(key)}>{words.remove}</ActionButton>
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
