/** Duration of `work` on the machine of docs/performance.md. Milliseconds of processor time. */
const referenceMs = 5;
const repetitions = 15;

/**
 * How much slower this machine's processor is than that one, at least 1: limits in milliseconds apply to that one. The
 * median of several measurements in processor time, so that other processes affect it little.
 */
export function processorSlowness(): number {
  const text = JSON.stringify(
    Array.from({ length: 5000 }, (_, i) => ({
      name: `object-${i}`,
      labels: { app: 'blog', tier: String(i % 7) },
      numbers: [i, i * 2, i / 3],
    })),
  );
  const taken = Array.from({ length: repetitions }, () => cpuMsOf(() => work(text)));
  const middle = taken.toSorted((a, b) => a - b)[Math.floor(repetitions / 2)]!;
  return Math.max(1, middle / referenceMs);
}

/** Typical work of a server: JSON, texts and maps. */
function work(text: string): number {
  const objects = JSON.parse(text) as { name: string; labels: Record<string, string> }[];
  const byName = new Map(objects.map((object) => [object.name, object.labels]));
  return JSON.stringify([...byName]).length;
}

function cpuMsOf(run: () => unknown): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}
