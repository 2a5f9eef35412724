import { useId, useMemo, useState, type ReactNode } from 'react';
import type { PagePart, PluginPage } from '../frame/plugin-pages.ts';
import type { TargetObject } from '../frame/target-object.ts';
import { models } from '../server/discovery.ts';
import { modelName, type ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { texts } from '../texts/texts.ts';
import type { ListSpec } from '../views/saved-view.ts';
import { ContentButtons } from './content-buttons.tsx';
import { ContentForm } from './content-form.tsx';
import { ContentList } from './content-list.tsx';
import { ContentPlot } from './content-plot.tsx';
// oxlint-disable-next-line import/no-unassigned-import -- It has no names.
import './content.css';

interface PageContentProps {
  page: Pick<PluginPage, 'name' | 'plugin'>;
  content: readonly PagePart[];
  /** Whose tab it is. */
  object: TargetObject | undefined;
}

/** The parts of a page of a plugin, without code of the plugin: what they show and do is what the user may. */
export default function PageContent({ page, content, object }: PageContentProps) {
  // A change of another page is no change of these.
  const text = JSON.stringify(object === undefined ? content : content.map((part) => partOf(object, part)));
  const parts = useMemo(() => JSON.parse(text) as readonly PagePart[], [text]);
  return (
    <div className="page-content">
      {parts.map((part, at) => (
        <Part key={`${at} ${part.form?.model}`} page={page} part={part} object={object} />
      ))}
    </div>
  );
}

function Part({ page, part, object }: Omit<PageContentProps, 'content'> & { part: PagePart }) {
  const { title, text, list, form, plot, buttons } = part;
  const id = useId();
  return (
    <section aria-labelledby={title === undefined ? undefined : id}>
      {title === undefined ? undefined : <h2 id={id}>{title}</h2>}
      {text?.split(/\n\s*\n/).map((paragraph, at) => (
        <p key={at}>{paragraph}</p>
      ))}
      {list === undefined ? undefined : (
        <WithModel name={list.model}>{(model) => <ContentList model={model} list={list} />}</WithModel>
      )}
      {form === undefined ? undefined : (
        <WithModel name={form.model}>
          {(model) => <ContentForm model={model} namespace={model.namespaced ? form.namespace : ''} />}
        </WithModel>
      )}
      {plot === undefined ? undefined : (
        <WithModel name={plot.model}>{(model) => <ContentPlot model={model} plot={plot} />}</WithModel>
      )}
      {buttons === undefined ? undefined : <ContentButtons page={page} buttons={buttons} object={object} />}
    </section>
  );
}

/** A model that goes stays here: somebody may have typed something. */
function WithModel({ name, children }: { name: string; children: (model: ModelInfo) => ReactNode }) {
  const current = useObservable(models)?.find((model) => modelName(model) === name);
  const [last, setLast] = useState(current);
  if (current !== undefined && current !== last) setLast(current);
  const model = current ?? last;
  return model === undefined ? <p className="note">{texts.list.unknown(name)}</p> : children(model);
}

/** The part with the name of the object for `{name}` in conditions; what is namespaced is of its namespace. */
function partOf({ name, namespace }: TargetObject, part: PagePart): PagePart {
  const { list, form, plot } = part;
  const named = (text: string): string => text.replaceAll('{name}', name);
  const within = namespace === '' ? {} : { namespace };
  const selected = <T extends Omit<ListSpec, 'model'>>(spec: T): T => ({
    ...within,
    ...spec,
    ...(spec.fields === undefined ? {} : { fields: spec.fields.map(named) }),
    ...(spec.labels === undefined ? {} : { labels: spec.labels.map(named) }),
  });
  return {
    ...part,
    ...(list === undefined ? {} : { list: selected(list) }),
    ...(plot === undefined ? {} : { plot: selected(plot) }),
    ...(form === undefined ? {} : { form: { ...within, ...form } }),
  };
}
