import { isStatusError } from '@svc/client';
import { ActionButton } from '../interface/action-button.tsx';
import { texts } from '../texts/texts.ts';
import { onePath, send, sessionsPath } from './access-api.ts';
import { CredentialSection, useDialogs, type HeadingLevel } from './credential-section.tsx';
import { RecordTable } from './record-table.tsx';
import { timeText } from './time-text.ts';
import { useRecord } from './use-records.ts';

const words = texts.access.credentials;

interface SessionRecord {
  id: string;
  remote_addr: string;
  user_agent: string;
  created: string;
  last_seen: string;
  is_current: boolean;
}

/** Where the user is logged in. */
export function OwnSessions({ level }: { level?: HeadingLevel }) {
  const [dialogs, dialog] = useDialogs();
  const { value, failure, reload } = useRecord<SessionRecord[]>(sessionsPath);
  const askToEnd = ({ id, remote_addr: address }: SessionRecord): void =>
    dialogs.ask({
      title: words.endTitle,
      text: words.endText(address),
      action: words.end,
      act: () => endSession(id).finally(reload),
    });
  const others = (value ?? []).filter(({ is_current: isCurrent }) => !isCurrent);
  const endOthers = async (): Promise<void> => {
    try {
      for (const { id } of others) await endSession(id);
    } finally {
      reload();
    }
  };
  const askToEndOthers = (): void =>
    dialogs.ask({
      title: words.endOthersTitle,
      text: words.endOthersText(others.length),
      action: words.endOthers,
      act: endOthers,
    });
  return (
    <CredentialSection
      id="sessions"
      title={words.sessions}
      intro={words.sessionsIntro}
      level={level}
      action={{
        text: words.endOthers,
        act: askToEndOthers,
        reason: others.length === 0 ? words.noOthers : undefined,
      }}
      failure={failure}
      path={sessionsPath}
    >
      {value === undefined ? undefined : (
        <RecordTable
          label={words.sessions}
          records={value}
          keyOf={({ id }) => id}
          empty={texts.access.none}
          columns={[
            { title: words.address, cell: ({ remote_addr: address }) => address },
            { title: words.browser, cell: ({ user_agent: browser }) => browser },
            { title: words.began, cell: ({ created }) => timeText(created) },
            { title: words.lastUsed, cell: ({ last_seen: seen }) => timeText(seen) },
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
      {dialog}
    </CredentialSection>
  );
}

/** One that has ended meanwhile is as wanted. */
async function endSession(id: string): Promise<void> {
  try {
    await send('DELETE', onePath(sessionsPath, id));
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error;
  }
}
