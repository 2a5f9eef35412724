import type { JsonValue } from '@svc/client';
import { useId, useMemo, useRef, useState, type ComponentType } from 'react';
import { findModel, models } from '../server/discovery.ts';
import { apiVersionOf, type ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import type { ModelSchema } from '../server/open-api-schema.ts';
import { useModelSchema } from '../server/use-model-schema.ts';
import { texts } from '../texts/texts.ts';
import { FieldGroup, type FieldViewProps } from './field-group.tsx';
import { embeddedHints, type FieldHints } from './field-hints.ts';
import { isObject, ownValue } from './field-path.ts';
import { FormActionsContext, useFormActions } from './form-context.ts';
import { embeddedRoot, type FormField } from './form-field.ts';
import { unfinishedKey } from './unfinished-texts.ts';
import { useFieldHints } from './use-field-hints.ts';

interface EmbeddedObjectProps {
  field: FormField;
  View: ComponentType<FieldViewProps>;
}

/** An object of any kind in a field of another: as the form of its kind, or as YAML if the server has no such kind. */
export function EmbeddedObject({ field, View }: EmbeddedObjectProps) {
  const all = useObservable(models);
  const [apiVersion, kind] = typeOf(field.value);
  // oxlint-disable-next-line react/exhaustive-deps -- It is found in `all`.
  const model = useMemo(() => findModel(apiVersion, kind), [all, apiVersion, kind]);
  return (
    <>
      <KindChoice field={field} served={all ?? []} isServed={model !== undefined} />
      {model === undefined ? (
        <View field={{ ...field, kind: 'yaml' }} label={texts.form.asYaml} isPart />
      ) : (
        <ObjectOfModel key={`${apiVersion} ${kind}`} field={field} View={View} model={model} />
      )}
    </>
  );
}

function typeOf(value: JsonValue | undefined): readonly [apiVersion: string, kind: string] {
  const text = (name: string): string => {
    const found = ownValue(value, name);
    return typeof found === 'string' ? found : '';
  };
  return [text('apiVersion'), text('kind')];
}

interface KindChoiceProps {
  field: FormField;
  served: readonly ModelInfo[];
  isServed: boolean;
}

/** What belongs to an object of whatever kind. */
const keptNames: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

function KindChoice({ field, served, isServed }: KindChoiceProps) {
  const { get, set, setUnfinished } = useFormActions();
  const id = useId();
  const { path, value, place } = field;
  // A long list in each of many fields would cost more than the rest of the form.
  const [isOffered, setOffered] = useState(false);
  /** What an object of another kind had, which comes back with its kind. */
  const left = useRef(new Map<string, readonly [string, JsonValue][]>());
  const [apiVersion, kind] = typeOf(value);
  const hasType = apiVersion !== '' || kind !== '';
  const current = hasType ? optionOf(apiVersion, kind) : '';
  const own = { key: current, text: titleOf(apiVersion, kind) };
  const options = !isOffered
    ? [own]
    : [...served.map((model) => optionOfModel(model)).filter(({ key }) => key !== current), own].toSorted((a, b) =>
        a.text.localeCompare(b.text),
      );
  const choose = (chosen: string): void => {
    setUnfinished(unfinishedKey({ ...field, kind: 'yaml' }), undefined);
    if (chosen === '') return set(path, undefined);
    const before = get(path);
    const content = Object.entries(isObject(before) ? before : {}).filter(([name]) => !keptNames.has(name));
    left.current.set(optionOf(...typeOf(before)), content);
    for (const [name] of content) set([...path, name], undefined);
    const [nextVersion, nextKind] = JSON.parse(chosen) as [string, string];
    const metadata = ownValue(before, 'metadata') ?? {};
    const back = Object.fromEntries(left.current.get(chosen) ?? []);
    set(path, { apiVersion: nextVersion, kind: nextKind, metadata, ...back });
  };
  const offer = (): void => setOffered(true);
  return (
    <div className="form-field">
      <div className="form-head">
        <label htmlFor={id}>{texts.form.kind}</label>
      </div>
      <select
        id={id}
        value={current}
        onFocus={offer}
        onPointerDown={offer}
        onChange={({ target }) => choose(target.value)}
      >
        {place === 'element' && hasType ? undefined : <option value="">{texts.form.notSet}</option>}
        {options
          .filter(({ key }) => key !== '')
          .map(({ key, text }) => (
            <option key={key} value={key}>
              {key !== current || isServed ? text : texts.form.notServed(text)}
            </option>
          ))}
      </select>
    </div>
  );
}

function optionOf(apiVersion: string, kind: string): string {
  return JSON.stringify([apiVersion, kind]);
}

function optionOfModel(model: ModelInfo): { key: string; text: string } {
  const apiVersion = apiVersionOf(model);
  return { key: optionOf(apiVersion, model.kind), text: titleOf(apiVersion, model.kind) };
}

function titleOf(apiVersion: string, kind: string): string {
  return [kind, apiVersion].filter((part) => part !== '').join(' · ');
}

function ObjectOfModel({ field, View, model }: EmbeddedObjectProps & { model: ModelInfo }) {
  const schema = useModelSchema(model);
  const hints = useFieldHints(model);
  if (schema === undefined || hints === undefined) return <p role="status">{texts.loading}</p>;
  if (schema === 'none') return <View field={{ ...field, kind: 'yaml' }} label={texts.form.asYaml} isPart />;
  return <ObjectForm field={field} View={View} schema={schema} hints={hints} />;
}

interface ObjectFormProps extends EmbeddedObjectProps {
  schema: ModelSchema;
  hints: FieldHints;
}

function ObjectForm({ field, View, schema, hints }: ObjectFormProps) {
  const outer = useFormActions();
  const actions = useMemo(
    () => ({ ...outer, shared: schema.shared, hints: embeddedHints(hints) }),
    [outer, schema, hints],
  );
  return (
    <FormActionsContext value={actions}>
      <FieldGroup field={embeddedRoot(field, schema)} View={View} />
    </FormActionsContext>
  );
}
