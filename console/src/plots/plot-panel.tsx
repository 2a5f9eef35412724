import { useMemo, useState } from 'react';
import { texts } from '../texts/texts.ts';
import { IndexPlot } from './index-plot.tsx';
import type { PlotToggleProps } from './plot-toggle.tsx';
import { ageIndex, plottedIndexes } from './plotted-indexes.ts';

/** How many objects of the list have which value of an index, as a plot and as a table. */
export default function PlotPanel({ model, view, facts }: PlotToggleProps) {
  const indexes = useMemo(() => plottedIndexes(model, facts), [model, facts]);
  const [chosen, setChosen] = useState(ageIndex);
  const index = indexes.find(({ name }) => name === chosen) ?? indexes[0];
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
      <IndexPlot model={model} view={view} index={index} />
    </section>
  );
}
