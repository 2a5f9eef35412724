import { useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import { appearance } from '../interface/appearance.ts';
import { useObservable } from '../server/observable.ts';
import { texts } from '../texts/texts.ts';
import type { Bar } from './read-bars.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import 'uplot/dist/uPlot.min.css';

const height = 240;
const maxLabelLength = 14;
/** Where bars have less room, their labels stand at an angle. Pixels. */
const minLevelWidth = 110;

/** Bars on a canvas; a table next to it has the same numbers. */
export function BarPlot({ bars, label }: { bars: readonly Bar[]; label: string }) {
  const host = useRef<HTMLDivElement>(null);
  const isDark = useIsDark();
  const chosen = useObservable(appearance);
  useEffect(() => {
    const element = host.current!;
    const plot = new uPlot(optionsOf(bars, element), dataOf(bars), element);
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
    // A canvas does not follow the colors of the page.
  }, [bars, isDark, chosen]);
  return <div ref={host} className="bar-plot" role="img" aria-label={label} />;
}

function dataOf(bars: readonly Bar[]): uPlot.AlignedData {
  return [bars.map((_, at) => at), bars.map(({ count }) => count)];
}

function optionsOf(bars: readonly Bar[], element: HTMLElement): uPlot.Options {
  // Its stylesheet gives the element one color for each purpose.
  const { color, caretColor, borderTopColor, font } = getComputedStyle(element);
  const isTurned = element.clientWidth < bars.length * minLevelWidth;
  const axis = { stroke: color, font, ticks: { show: false } };
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: [-0.6, bars.length - 0.4] },
      y: { range: (_, __, max) => [0, Math.max(1, max * 1.05)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        splits: () => bars.map((_, at) => at),
        values: () => bars.map((bar) => shortLabel(bar.label)),
        rotate: isTurned ? -45 : 0,
        size: isTurned ? 90 : 40,
      },
      {
        ...axis,
        grid: { stroke: borderTopColor, width: 1 },
        size: 60,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 1e7, 1e8],
        values: (_, counts) => counts.map((count) => texts.number(count)),
      },
    ],
    series: [
      {},
      { fill: caretColor, stroke: caretColor, paths: uPlot.paths.bars!({ size: [0.8, 60] }), points: { show: false } },
    ],
  };
}

function shortLabel(label: string): string {
  return label.length > maxLabelLength ? `${label.slice(0, maxLabelLength - 1)}…` : label;
}

const darkQuery = '(prefers-color-scheme: dark)';

function useIsDark(): boolean {
  const [isDark, setDark] = useState(() => matchMedia(darkQuery).matches);
  useEffect(() => {
    const end = new AbortController();
    matchMedia(darkQuery).addEventListener('change', ({ matches }) => setDark(matches), { signal: end.signal });
    return () => end.abort();
  }, []);
  return isDark;
}
