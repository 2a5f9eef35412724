import type { StreamState } from '../server/follow-changes.ts';
import { formatTime, texts } from '../texts/texts.ts';

/** Says whether what is shown is up to date. */
export function StreamNote({ stream }: { stream: StreamState }) {
  const text =
    stream.name === 'stale'
      ? texts.list.stale(formatTime(stream.since))
      : stream.name === 'live'
        ? texts.list.live
        : texts.list.connecting;
  return (
    <span role="status" className={`stream ${stream.name}`}>
      {text}
    </span>
  );
}
