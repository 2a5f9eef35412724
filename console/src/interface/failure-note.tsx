import { StatusError } from '@svc/client';
import { texts } from '../texts/texts.ts';

/** What went wrong, with the server's words, and each cause at its field. */
export function FailureNote({ failure, title = texts.failed }: { failure: unknown; title?: string }) {
  const causes = failure instanceof StatusError ? (failure.details?.causes ?? []) : [];
  return (
    <div role="alert" className="note failure">
      <strong>{title}</strong>
      {causes.some(({ field }) => field !== undefined) ? (
        <ul>
          {causes.map(({ field, message }) => (
            <li key={`${field} ${message}`}>
              {field === undefined ? undefined : <code>{field}</code>} {message}
            </li>
          ))}
        </ul>
      ) : (
        <p>{messageOf(failure)}</p>
      )}
    </div>
  );
}

export function messageOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure);
}
