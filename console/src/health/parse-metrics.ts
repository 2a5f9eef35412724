/** One number of a metric, with the labels that tell it from the others. */
export interface MetricSample {
  labels: Readonly<Record<string, string>>;
  /** NaN: the server could not tell. */
  value: number;
}

/** By the name of the metric; a histogram is three of them. */
export type Metrics = ReadonlyMap<string, readonly MetricSample[]>;

const sampleForm = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?[ \t]+(\S+)/s;
const labelForm = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/gs;

/** Reads Prometheus' text format; a line that is no sample is left out. */
export function parseMetrics(text: string): Metrics {
  const found = new Map<string, MetricSample[]>();
  for (const line of text.split('\n')) {
    const [, name, labels = '', value] = sampleForm.exec(line) ?? [];
    if (name === undefined) continue;
    const sample = { labels: parseLabels(labels), value: parseValue(value!) };
    const known = found.get(name);
    if (known === undefined) found.set(name, [sample]);
    else known.push(sample);
  }
  return found;
}

/** The sum over all labels, or over those samples that have these; undefined where nothing is known. */
export function sumOf(
  metrics: Metrics,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const wanted = Object.entries(labels);
  const values = (metrics.get(name) ?? [])
    .filter((sample) => wanted.every(([label, value]) => sample.labels[label] === value))
    .map(({ value }) => value)
    .filter((value) => !Number.isNaN(value));
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
}

function parseLabels(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(labelForm)].map(([, name, value]) => [
      name,
      value!.replaceAll(/\\(.)/gs, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped)),
    ]),
  ) as Record<string, string>;
}

function parseValue(text: string): number {
  const infinity = /^([+-]?)inf$/i.exec(text);
  if (infinity === null) return Number(text);
  return infinity[1] === '-' ? -Infinity : Infinity;
}
