import { useMemo, useState } from 'react';
import { DataTable } from '../interface/data-table.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { selectionOf } from '../list/list-view.ts';
import { resourceOf } from '../server/model-info.ts';
import { useLiveRead } from '../server/use-live-read.ts';
import { texts } from '../texts/texts.ts';
import { BarPlot } from './bar-plot.tsx';
import type { PlotToggleProps } from './plot-toggle.tsx';
import { ageIndex, plottedIndexes } from './plotted-indexes.ts';
import { maxValues, readBars, type Bar, type Bars } from './read-bars.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './plots.css';

/** A read counts by many requests. */
const minPauseMs = 3000;

/** How many objects of the list have which value of an index, as a plot and as a table. */
export default function PlotPanel({ model, view, facts }: PlotToggleProps) {
  const indexes = useMemo(() => plottedIndexes(model, facts), [model, facts]);
  const [chosen, setChosen] = useState(ageIndex);
  const index = indexes.find(({ name }) => name === chosen) ?? indexes[0];
  const source = useMemo(() => {
    if (index === undefined) return undefined;
    const resource = resourceOf(model, view.namespace);
    const selection = selectionOf(view);
    return {
      resource,
      selection,
      minPauseMs,
      read: (signal: AbortSignal) => readBars(resource, index, { selection, signal }),
    };
  }, [model, view, index]);
  const { value, failure } = useLiveRead<Bars>(source);
  return (
    <section className="plot-panel" aria-label={texts.plots.title}>
      <label>
        {texts.plots.by}{' '}
        <select value={index?.name} onChange={({ target }) => setChosen(target.value)}>
          {indexes.map(({ name }) => (
            <option key={name} value={name}>
              {name === ageIndex ? texts.plots.age : name}
            </option>
          ))}
        </select>
      </label>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {value === undefined && failure === undefined ? <p role="status">{texts.loading}</p> : undefined}
      {value?.name === 'tooMany' ? <p>{texts.plots.tooMany(maxValues)}</p> : undefined}
      {value?.name === 'bars' ? <Plot bars={value.bars} title={texts.plots.titleBy(index?.name ?? '')} /> : undefined}
    </section>
  );
}

function Plot({ bars, title }: { bars: readonly Bar[]; title: string }) {
  const total = bars.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return <p>{texts.list.empty}</p>;
  return (
    <div className="plot-sides">
      <BarPlot bars={bars} label={title} />
      <DataTable
        label={title}
        columns={[texts.plots.value, texts.plots.objects, texts.plots.share]}
        numeric={[1, 2]}
        keyOf={(at) => bars[at]!.label}
        rows={bars.map(({ label, count }) => [label, texts.number(count), texts.plots.percent(count / total)])}
      />
    </div>
  );
}
