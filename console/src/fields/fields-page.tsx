import { useEffect, useState } from 'react';
import { Link } from 'wouter';
import { FailureNote } from '../interface/failure-note.tsx';
import { useTitle } from '../interface/use-title.ts';
import { useModelFacts } from '../list/model-facts.ts';
import { definitionInfo, definitionsVersion, models } from '../server/discovery.ts';
import { apiVersionOf, modelName, type ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import { readSchema } from '../server/open-api.ts';
import type { ModelSchema } from '../server/open-api-schema.ts';
import { listLink, modelOfPath, objectLink } from '../shell/links.ts';
import { texts } from '../texts/texts.ts';
import { FieldTree } from './field-tree.tsx';

/** What a model is made of: its versions, indexes and fields. */
export default function FieldsPage({ group, plural }: { group: string; plural: string }) {
  useObservable(models);
  const model = modelOfPath(group, plural);
  if (model === undefined) return <p role="alert">{texts.list.unknown(`${plural}.${group}`)}</p>;
  return <ModelFields model={model} />;
}

function ModelFields({ model }: { model: ModelInfo }) {
  useTitle(texts.fields.title(model.kind));
  const { indexes, definition, indexState } = useModelFacts(model);
  const { schema, failure } = useSchema(model);
  return (
    <>
      <p className="path">
        <Link href={listLink(model)}>{model.kind}</Link>
      </p>
      <h1>{texts.fields.title(model.kind)}</h1>
      <p>
        <code>{apiVersionOf(model)}</code> {texts.fields.versions(model.versions.join(', '))}{' '}
        {definition === undefined ? undefined : (
          <Link href={objectLink(definitionInfo, { name: modelName(model) })}>{texts.fields.definition}</Link>
        )}
      </p>
      <h2 id="indexes">{texts.fields.indexes}</h2>
      <p>{texts.fields.indexesIntro}</p>
      {indexState === undefined ? undefined : (
        <p role="status" className={indexState.isReady ? 'stream live' : 'note warning'}>
          {indexState.message}
        </p>
      )}
      <div className="table-box" role="group" aria-labelledby="indexes" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">{texts.fields.index}</th>
              <th scope="col">{texts.fields.type}</th>
              <th scope="col">{texts.fields.sorts}</th>
              <th scope="col">{texts.fields.unique}</th>
            </tr>
          </thead>
          <tbody>
            {indexes.map(({ name, type, isMulti, isUnique = false }) => (
              <tr key={name}>
                <td>
                  <code>{name}</code>
                </td>
                <td>{type}</td>
                <td>{isMulti ? texts.fields.no : texts.fields.yes}</td>
                <td>{isUnique ? texts.fields.yes : texts.fields.no}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <h2>{texts.fields.fields}</h2>
      {failure === undefined ? undefined : <FailureNote failure={failure} />}
      {schema === undefined ? undefined : <FieldTree schema={schema.root} shared={schema.shared} />}
    </>
  );
}

function useSchema(model: ModelInfo): { schema: ModelSchema | undefined; failure: unknown } {
  const [read, setRead] = useState<{ schema: ModelSchema | undefined; failure: unknown }>({
    schema: undefined,
    failure: undefined,
  });
  const version = useObservable(definitionsVersion);
  useEffect(() => {
    let isCurrent = true;
    readSchema(model).then(
      (schema) => isCurrent && setRead({ schema, failure: undefined }),
      (failure: unknown) => isCurrent && setRead(({ schema }) => ({ schema, failure })),
    );
    return () => {
      isCurrent = false;
    };
  }, [model, version]);
  return read;
}
