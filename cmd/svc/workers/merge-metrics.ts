/**
 * One exposition of metrics from those of several processes, whose series differ by a label: the format wants all series
 * of a metric in one place. The help of the first counts.
 */
export function mergeMetrics(texts: readonly string[]): string {
  const series = new Map<string, string[]>();
  for (const text of texts) {
    for (const block of text.split(/\n\n(?=# HELP )/)) {
      const lines = block.trimEnd().split('\n');
      const head = lines.findIndex((line) => !line.startsWith('#'));
      if (head <= 0) continue;
      const title = lines.slice(0, head).join('\n');
      const known = series.get(title) ?? [];
      series.set(title, known);
      for (const line of lines.slice(head)) known.push(line);
    }
  }
  return Array.from(series, ([title, lines]) => `${title}\n${lines.join('\n')}\n`).join('\n');
}
