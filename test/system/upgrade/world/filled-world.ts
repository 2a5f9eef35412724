import { revisionOf, type ApiClient, type ApiObject, type Json } from '../api-client.ts';
import { pollUntil } from '../../harness/poll-until.ts';
import {
  book,
  booksDefinition,
  booksPath,
  definitionsPath,
  group,
  namespacesPath,
  realDefinitions,
  realObjects,
} from './definitions.ts';
import { everything } from './everything.ts';

const BOOKS = 40;
const READY_MS = 60_000;
const idempotent = { 'idempotency-key': 'upgrade-4711' };

/** The content that one version wrote, to compare with another version's. */
export interface FilledWorld {
  readonly objects: ReadonlyMap<string, ApiObject>;
  /** A watch's revision, and the later events: type and name. */
  readonly position: string;
  readonly since: readonly string[];
  /** Continue token of a partly read list. */
  readonly chunk: string;
  /** The object of a write with an Idempotency-Key. */
  readonly idempotent: ApiObject;
}

/** Creates the first half: definitions, including real ones, objects, and one that waits for its deletion. */
export async function fillFirst(api: ApiClient): Promise<void> {
  await api.post(namespacesPath, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'library' } });
  for (const definition of [booksDefinition, ...realDefinitions()]) await api.post(definitionsPath, definition);
  await pollUntil(
    async () => {
      const { items } = (await api.get(definitionsPath)) as {
        items: { status?: { conditions?: { type: string; status: string }[] } }[];
      };
      return items.every(({ status }) =>
        ['Established', 'IndexesReady'].every(
          (type) =>
            status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true,
        ),
      );
    },
    { what: 'the definitions are served', timeoutMs: READY_MS },
  );
  for (let number = 0; number < BOOKS; number += 1) await api.post(booksPath, book(`old-${number}`, number));
  await api.post(booksPath, book('held', 1, { finalizers: [`${group}/shelf`] }));
  await api.expect('DELETE', `${booksPath}/held`);
  await addRealObjects(api);
}

/** Creates the second half, after the start of a watch, and returns all content. */
export async function fillSecond(api: ApiClient): Promise<FilledWorld> {
  const { metadata } = (await api.get(booksPath)) as unknown as ApiObject;
  const position = metadata.resourceVersion;
  const kept = (await api.post(booksPath, book('kept-once', 3), idempotent)) as unknown as ApiObject;
  const owner = { apiVersion: `${group}/v1`, kind: 'Book', name: 'kept-once', uid: kept.metadata.uid };
  await api.post(booksPath, book('volume-2', 4, { ownerReferences: [owner] }));
  const changed = (await api.get(`${booksPath}/old-1`)) as unknown as ApiObject & { spec: Json };
  await api.expect('PUT', `${booksPath}/old-1`, { ...changed, spec: { ...changed.spec, year: 2001 } });
  await api.expect('DELETE', `${booksPath}/old-2`);
  const chunk = (await api.get(`${booksPath}?limit=5`))['metadata'] as { continue?: string };
  return {
    objects: await everything(api),
    position,
    since: ['ADDED kept-once', 'ADDED volume-2', 'MODIFIED old-1', 'DELETED old-2'],
    chunk: chunk.continue ?? '',
    idempotent: kept,
  };
}

/** Uses the content as an existing client would. Returns the problems. */
export async function useOldWorld(api: ApiClient, world: FilledWorld): Promise<string[]> {
  const problems: string[] = [];
  const hold = (what: string, holds: boolean): void => {
    if (!holds) problems.push(what);
  };
  const events = await api.watch(
    `${booksPath}?watch=true&resourceVersion=${world.position}&timeoutSeconds=10`,
    (seen) => seen.length >= world.since.length,
  );
  const seen = events.map(({ type, object }) => `${type} ${object.metadata.name}`);
  hold(`a watch from before went on with ${seen.join(', ')}`, seen.join() === world.since.join());

  const rest = await api.send('GET', `${booksPath}?limit=500&continue=${encodeURIComponent(world.chunk)}`);
  const { items } = rest.body as { items?: unknown[] };
  hold(
    `a list in chunks from before went on with ${rest.status}, ${items?.length} objects`,
    rest.status === 410 || items?.length === BOOKS + 2 - 5,
  );

  const again = await api.send('POST', booksPath, book('kept-once', 3), idempotent);
  hold(
    `the same Idempotency-Key answered ${again.status}`,
    again.status === 201 && revisionOf(again.body as unknown as ApiObject) === revisionOf(world.idempotent),
  );

  const old = world.objects.get(`${group}/v1/books library/old-3`) as ApiObject & { spec: Json };
  const put = await api.send('PUT', `${booksPath}/old-3`, { ...old, spec: { ...old.spec, year: 2002 } });
  hold(`a change with a revision from before answered ${put.status}`, put.status === 200);
  const stale = await api.send('PUT', `${booksPath}/old-3`, { ...old, spec: { ...old.spec, year: 2003 } });
  hold(`a stale change answered ${stale.status}`, stale.status === 409);
  const twice = await api.send('POST', booksPath, { ...book('rival', 9), spec: { isbn: 'isbn-old-5' } });
  hold(`a second of a unique value answered ${twice.status}`, twice.status === 409);
  const byIndex = (await api.get(`${booksPath}?fieldSelector=year%3D2002`))['items'] as unknown[];
  hold(`an index of before found ${byIndex.length} of 1`, byIndex.length === 1);

  const created = (await api.post(booksPath, book('new', 5))) as unknown as ApiObject;
  hold(
    `revisions went back: ${revisionOf(created)}`,
    BigInt(revisionOf(created)) > BigInt(revisionOf(world.idempotent)),
  );
  const freed = await api.send('PATCH', `${booksPath}/held`, [{ op: 'remove', path: '/metadata/finalizers' }], {
    'content-type': 'application/json-patch+json',
  });
  const gone = await api.send('GET', `${booksPath}/held`);
  hold(
    `an object that waited for its finalizer: ${freed.status}, then ${gone.status}`,
    freed.status === 200 && gone.status === 404,
  );
  await api.expect('DELETE', `${booksPath}/kept-once`);
  await pollUntil(async () => (await api.send('GET', `${booksPath}/volume-2`)).status === 404, {
    what: 'deleting an owner from before deletes what it owns',
    timeoutMs: READY_MS,
  }).catch((error: Error) => problems.push(error.message));
  return problems;
}

/** Adds as many as this version accepts: some need namespaces that must exist first. */
async function addRealObjects(api: ApiClient): Promise<void> {
  const resources = new Map(
    realDefinitions().map(({ spec }) => {
      const {
        group: apiGroup,
        names,
        scope,
      } = spec as { group: string; names: { kind: string; plural: string }; scope: string };
      return [`${apiGroup}/${names.kind}`, { plural: names.plural, scope }] as const;
    }),
  );
  for (const object of realObjects()) {
    const { apiVersion, kind, metadata } = object as {
      apiVersion: string;
      kind: string;
      metadata: { namespace?: string };
    };
    const resource = resources.get(`${apiVersion.split('/')[0]}/${kind}`);
    if (resource === undefined) continue;
    const namespace = metadata.namespace ?? 'default';
    await api.send('POST', namespacesPath, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
    await api.send(
      'POST',
      `/apis/${apiVersion}/${resource.scope === 'Cluster' ? '' : `namespaces/${namespace}/`}${resource.plural}`,
      object,
    );
  }
}
