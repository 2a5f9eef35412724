import { useState, type ReactNode } from 'react';
import { ActionButton } from '../interface/action-button.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { useTitle } from '../interface/use-title.ts';
import { formatDate, texts } from '../texts/texts.ts';
import { keysPath, onePath, send, sessionsPath, tokensPath } from './access-api.ts';
import { ConfirmDialog, type Question } from '../interface/confirm-dialog.tsx';
import { FormDialog, namesOf, timestampOf, type FormValues } from './form-dialog.tsx';
import { RecordTable } from './record-table.tsx';
import { SecretDialog, type Secret } from './secret-dialog.tsx';
import { useRecord } from './use-records.ts';

const words = texts.access.credentials;

/** The user's own tokens, access keys and sessions. Those of others are theirs: nobody reads them. */
export function CredentialsPage() {
  useTitle(words.title);
  const [dialog, setDialog] = useState<ReactNode>(undefined);
  const close = (): void => setDialog(undefined);
  const dialogs: Dialogs = {
    ask: (question) => setDialog(<ConfirmDialog question={question} onClose={close} />),
    open: setDialog,
    showSecret: (secret) => setDialog(<SecretDialog secret={secret} onClose={close} />),
    close,
  };
  return (
    <>
      <div className="page-head">
        <h1>{words.title}</h1>
      </div>
      <p>
        {words.intro} <a href="/settings/">{texts.navigation.settings}</a>
      </p>
      <Tokens dialogs={dialogs} />
      <Keys dialogs={dialogs} />
      <Sessions dialogs={dialogs} />
      {dialog}
    </>
  );
}

interface Dialogs {
  ask: (question: Question) => void;
  open: (dialog: ReactNode) => void;
  showSecret: (secret: Secret) => void;
  close: () => void;
}

/** The dialog with the secret is in the place of the form. */
const secretFollows = (): void => undefined;

interface SectionProps {
  id: string;
  title: string;
  intro: string;
  create?: { text: string; act: () => void };
  failure: unknown;
  children: ReactNode;
}

function Section({ id, title, intro, create, failure, children }: SectionProps) {
  return (
    <section aria-labelledby={id}>
      <div className="section-head">
        <h2 id={id}>{title}</h2>
        {create === undefined ? undefined : <ActionButton onAction={create.act}>{create.text}</ActionButton>}
      </div>
      <p>{intro}</p>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {children}
    </section>
  );
}

const time = (timestamp: string | null | undefined): string =>
  timestamp === null || timestamp === undefined ? texts.access.users.never : formatDate(timestamp);

interface PersonalToken {
  metadata: { name: string; creationTimestamp: string };
  spec: { displayName?: string; expiresAt?: string; roles?: string[]; revoked: boolean };
  status: { expired: boolean; lastUsed?: string; token?: string };
}

function Tokens({ dialogs }: { dialogs: Dialogs }) {
  const { value, failure, reload } = useRecord<{ items: PersonalToken[] }>(tokensPath);
  const [refusal, setRefusal] = useState<unknown>(undefined);
  const pathOf = (name: string): string => `${tokensPath}/${encodeURIComponent(name)}`;
  const create = async ({ displayName = '', expiresAt = '', roles = '' }: FormValues): Promise<void> => {
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
          { name: 'displayName', label: words.purpose, hint: words.purposeHint },
          { name: 'expiresAt', label: words.expires, kind: 'time', hint: words.expiresHint },
          { name: 'roles', label: words.roles, hint: words.rolesHint },
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
    <Section
      id="tokens"
      title={words.tokens}
      intro={words.tokensIntro}
      create={{ text: words.createToken, act: openForm }}
      failure={failure ?? refusal}
    >
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
            { title: words.created, cell: ({ metadata }) => time(metadata.creationTimestamp) },
            { title: words.expires, cell: ({ spec }) => time(spec.expiresAt) },
            { title: words.lastUsed, cell: ({ status }) => time(status.lastUsed) },
            {
              title: words.actions,
              cell: ({ metadata: { name }, spec }) => (
                <span className="row-actions">
                  {spec.revoked ? (
                    <ActionButton onAction={() => restore(name)}>{words.restore}</ActionButton>
                  ) : (
                    <ActionButton onAction={() => askToRevoke(name)}>{words.revoke}</ActionButton>
                  )}
                  <ActionButton onAction={() => askToDelete(name)}>{words.remove}</ActionButton>
                </span>
              ),
            },
          ]}
        />
      )}
    </Section>
  );
}

function TokenState({ token: { spec, status } }: { token: PersonalToken }) {
  const state = spec.revoked ? 'revoked' : status.expired ? 'expired' : 'valid';
  return <span className={`state ${state === 'valid' ? 'good' : 'bad'}`}>{words[state]}</span>;
}

interface AccessKey {
  id: string;
  ip_group: string[];
  is_active: boolean;
  date_created: string;
  date_last_used: string | null;
  secret?: string;
}

function Keys({ dialogs }: { dialogs: Dialogs }) {
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
    <Section
      id="keys"
      title={words.keys}
      intro={words.keysIntro}
      create={{ text: words.createKey, act: openForm }}
      failure={failure ?? refusal}
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
            { title: words.created, cell: ({ date_created: date }) => time(date) },
            { title: words.lastUsed, cell: ({ date_last_used: date }) => time(date) },
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
    </Section>
  );
}

interface SessionRecord {
  id: string;
  remote_addr: string;
  user_agent: string;
  created: string;
  last_seen: string;
  is_current: boolean;
}

function Sessions({ dialogs }: { dialogs: Dialogs }) {
  const { value, failure, reload } = useRecord<SessionRecord[]>(sessionsPath);
  const askToEnd = ({ id, remote_addr: address }: SessionRecord): void =>
    dialogs.ask({
      title: words.endTitle,
      text: words.endText(address),
      action: words.end,
      act: () => send('DELETE', onePath(sessionsPath, id)).then(reload),
    });
  return (
    <Section id="sessions" title={words.sessions} intro={words.sessionsIntro} failure={failure}>
      {value === undefined ? undefined : (
        <RecordTable
          label={words.sessions}
          records={value}
          keyOf={({ id }) => id}
          empty={texts.access.none}
          columns={[
            { title: words.address, cell: ({ remote_addr: address }) => address },
            { title: words.browser, cell: ({ user_agent: browser }) => browser },
            { title: words.began, cell: ({ created }) => time(created) },
            { title: words.lastUsed, cell: ({ last_seen: seen }) => time(seen) },
            {
              title: words.actions,
              cell: (session) => (
                <ActionButton
                  onAction={() => askToEnd(session)}
                  reason={session.is_current ? words.thisSession : undefined}
                >
                  {words.end}
                </ActionButton>
              ),
            },
          ]}
        />
      )}
    </Section>
  );
}
