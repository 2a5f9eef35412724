import { useState } from 'react';
import { lazy } from '../interface/lazy.tsx';
import type { ListView } from '../list/list-view.ts';
import type { ModelFacts } from '../list/model-facts.ts';
import type { ModelInfo } from '../server/model-info.ts';
import { texts } from '../texts/texts.ts';

const PlotPanel = lazy(() => import('./plot-panel.tsx'));

export interface PlotToggleProps {
  model: ModelInfo;
  view: ListView;
  facts: ModelFacts;
}

/** A button, and below it the plot of what the list shows. */
export function PlotToggle(props: PlotToggleProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="button plain" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {texts.plots.open}
      </button>
      {isOpen ? <PlotPanel {...props} /> : undefined}
    </>
  );
}
