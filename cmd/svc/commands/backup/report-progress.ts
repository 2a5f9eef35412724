import type { Logger } from 'pino';
import type { Progress } from '#pkg/backup/index';

const barIntervalMs = 250;
const logIntervalMs = 10_000;
const barWidth = 24;

export interface ProgressView {
  readonly log: Logger;
  readonly progress: Progress;
  /** Progress from 0 to 1; undefined if unknown. */
  fraction(): number | undefined;
}

/**
 * Shows the progress until the returned function is called: a bar if stderr is a terminal, otherwise a log line every
 * 10 s.
 */
export function reportProgress(view: ProgressView): () => void {
  const start = performance.now();
  const { isTTY } = process.stderr;
  const timer = setInterval(
    () => {
      const seconds = (performance.now() - start) / 1000;
      if (isTTY) process.stderr.write(`\r${progressLine(view.progress, view.fraction(), seconds)}\u001b[K`);
      else view.log.info({ ...view.progress, seconds: Math.round(seconds) }, 'under way');
    },
    isTTY ? barIntervalMs : logIntervalMs,
  );
  return () => {
    clearInterval(timer);
    if (isTTY) process.stderr.write('\r\u001b[K');
  };
}

/** `[######..................]  25 %  1 200 000 rows  812 MB  14 s left` */
export function progressLine(
  { stage, rows, bytes, indexes, expectedIndexes }: Progress,
  fraction: number | undefined,
  seconds: number,
): string {
  if (stage === 'indexes')
    return `${bar(expectedIndexes === 0 ? 1 : indexes / expectedIndexes)}  ${grouped(indexes)} of ${grouped(expectedIndexes)} indexes`;
  if (stage !== 'rows') return stage;
  const done = fraction === undefined ? undefined : Math.min(fraction, 0.999);
  const left = done === undefined || done < 0.01 ? '' : `  ${duration((seconds * (1 - done)) / done)} left`;
  return `${done === undefined ? '' : `${bar(done)}  `}${grouped(rows)} rows  ${grouped(Math.round(bytes / 1e6))} MB${left}`;
}

function bar(fraction: number): string {
  const filled = Math.floor(fraction * barWidth);
  return `[${'#'.repeat(filled)}${'.'.repeat(barWidth - filled)}] ${String(Math.floor(fraction * 100)).padStart(3)} %`;
}

const grouped = (number: number): string => String(number).replaceAll(/\B(?=(?:\d{3})+$)/g, ' ');

function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  return whole < 120 ? `${whole} s` : `${Math.ceil(whole / 60)} min`;
}
