import { useMemo } from 'react';
import { DataTable } from '../interface/data-table.tsx';
import { FailureNote } from '../interface/failure-note.tsx';
import { selectionOf, type ListView } from '../list/list-view.ts';
import { resourceOf, type ModelInfo } from '../server/model-info.ts';
import { useLiveRead } from '../server/use-live-read.ts';
import { texts } from '../texts/texts.ts';
import { SnippetAction } from '../snippet/snippet-action.tsx';
import { BarPlot } from './bar-plot.tsx';
import { selectorsWith } from './count-objects.ts';
import { maxValues, readBars, type Bar, type Bars, type PlottedIndex } from './read-bars.ts';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './plots.css';

/** A read counts by many requests. */
const minPauseMs = 3000;

interface IndexPlotProps {
  model: ModelInfo;
  /** Keep it in a `useMemo`, as the index: another one is read from the start. */
  view: ListView;
  index: PlottedIndex | undefined;
}

/** How many objects of a list have which value of an index, as a plot and as a table. */
export function IndexPlot({ model, view, index }: IndexPlotProps) {
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
    <>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {value === undefined && failure === undefined ? <p role="status">{texts.loading}</p> : undefined}
      {value?.name === 'tooMany' ? <p>{texts.plots.tooMany(maxValues)}</p> : undefined}
      {value?.name === 'bars' && source !== undefined && index !== undefined ? (
        <>
          <Plot bars={value.bars} title={texts.plots.titleBy(index.name)} />
          <SnippetAction
            request={{
              path: source.resource.path,
              counts: value.bars.map(({ label, condition }) => ({
                label,
                selectors: selectorsWith(source.selection, index.name, condition),
              })),
            }}
          />
        </>
      ) : undefined}
    </>
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
