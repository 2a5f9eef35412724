import { useMemo } from 'react';
import { useModelFacts } from '../list/model-facts.ts';
import type { PagePart } from '../frame/plugin-pages.ts';
import { IndexPlot } from '../plots/index-plot.tsx';
import { plottedIndexes } from '../plots/plotted-indexes.ts';
import { missingRule } from '../server/missing-rule.ts';
import type { ModelInfo } from '../server/model-info.ts';
import { usePermissions } from '../server/permissions.ts';
import { texts } from '../texts/texts.ts';
import { contentView } from './content-view.ts';

interface ContentPlotProps {
  model: ModelInfo;
  plot: NonNullable<PagePart['plot']>;
}

export function ContentPlot({ model, plot }: ContentPlotProps) {
  const facts = useModelFacts(model);
  const view = useMemo(() => contentView(model, plot), [model, plot]);
  const { namespace } = view;
  const may = usePermissions(namespace);
  const index = useMemo(
    () => plottedIndexes(model, facts).find(({ name }) => name === plot.index),
    [model, facts, plot.index],
  );
  if (!may({ verb: 'list', model }))
    return <p className="note">{texts.navigation.noRight(missingRule({ verb: 'list', model, namespace }))}</p>;
  if (!facts.isKnown) return <p role="status">{texts.loading}</p>;
  if (index === undefined) return <p className="note">{texts.content.noIndex(plot.index, model.kind)}</p>;
  return <IndexPlot model={model} view={view} index={index} />;
}
