import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** In V8's format; times in microseconds. */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
}

const shown = 40;
const root = new URL('../../', import.meta.url).href;

/** The newest profile in a folder: functions by self time, in percent of the non-idle time. */
export async function summarizeProfile(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.cpuprofile')).toSorted();
  const newest = names.at(-1);
  if (newest === undefined) return `There is no profile in ${folder}.`;
  const profile = JSON.parse(await readFile(join(folder, newest), 'utf8')) as CpuProfile;
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const times = new Map<string, number>();
  let busy = 0;
  for (const [i, id] of profile.samples.entries()) {
    const frame = frames.get(id);
    if (frame === undefined || frame.functionName === '(idle)' || frame.functionName === '(root)') continue;
    const time = profile.timeDeltas[i] ?? 0;
    const url = frame.url.startsWith(root) ? fileURLToPath(frame.url).slice(fileURLToPath(root).length) : frame.url;
    const place = `${frame.functionName || '(anonymous)'}  ${url}${url === '' ? '' : `:${frame.lineNumber + 1}`}`;
    times.set(place, (times.get(place) ?? 0) + time);
    busy += time;
  }
  const lines = [...times].toSorted((a, b) => b[1] - a[1]).slice(0, shown);
  return [
    `Self time of the server, ${(busy / 1e6).toFixed(1)} s not idle (${newest}):`,
    ...lines.map(([place, time]) => `${((time / busy) * 100).toFixed(1).padStart(5)} %  ${place}`),
    '',
  ].join('\n');
}
