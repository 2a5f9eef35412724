import { connect, type JsonObject } from '@svc/client';
import { modelName } from '../server/model-info.ts';
import type { Right } from '../server/permissions.ts';
import { withUid } from '../server/with-uid.ts';
import { fetchForPage, type PluginRequest } from './plugin-pages.ts';
import type { TargetObject } from './target-object.ts';

/** One object, or without a name several of a model. */
export type RequestTarget = Pick<TargetObject, 'model' | 'namespace'> & { name?: string };

/** What the user needs for a request. */
export function rightOf({ path, patch }: PluginRequest, target: RequestTarget | undefined): Right {
  if (patch !== undefined && target !== undefined) {
    const { model, namespace, name } = target;
    return { verb: 'patch', model, namespace, ...(name === undefined ? {} : { name }) };
  }
  // A POST to `/apis/<group>/<version>/<resource>/<name>/<subresource>`.
  const [, , group = '', , resource = '', named, subresource] = (path ?? '').split('/');
  const name = named === '{name}' ? target?.name : named === '{namespace}' ? segmentOf(target?.namespace ?? '') : named;
  const model = {
    group,
    plural: subresource === undefined ? resource : `${resource}/${subresource}`,
    namespaced: false,
  };
  return { verb: 'create', model, namespace: '', ...(name === undefined ? {} : { name }) };
}

const maxMessageLength = 1000;

/**
 * Sends it in the name of the page, because the plugin chose it. What the answer says to people, if it does.
 *
 * @param warn is called with each warning of the server.
 * @throws StatusError
 */
export async function sendRequest(
  page: string,
  { path = '', body, patch }: PluginRequest,
  target: TargetObject | undefined,
  warn: (text: string) => void,
): Promise<string | undefined> {
  const server = connect({ fetch: fetchForPage(page), fieldManager: 'svc-page', warn });
  if (patch !== undefined && target !== undefined) {
    const { model, namespace, name, uid } = target;
    const key = { name, ...(namespace === '' ? {} : { namespace }) };
    await server.resource(model).patch(key, uid === undefined ? patch : withUid(patch, uid));
    return undefined;
  }
  const answer = await server.send(pathFor(path, target), { method: 'POST', ...(body === undefined ? {} : { body }) });
  const { message } = (answer ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message.slice(0, maxMessageLength) : undefined;
}

/** The request as people read it: all that is sent. */
export function requestText({ path = '', body, patch }: PluginRequest, target: RequestTarget | undefined): string {
  if (patch === undefined || target === undefined) return `POST ${pathFor(path, target)} ${textOf(body)}`.trim();
  const { model, namespace, name } = target;
  const object = name === undefined ? '' : namespace === '' ? ` ${name}` : ` ${namespace}/${name}`;
  return `PATCH ${modelName(model)}${object} ${textOf(patch)}`;
}

/** So much fits in a line. */
const lineLength = 60;

function textOf(content: JsonObject | undefined): string {
  if (content === undefined) return '';
  const text = JSON.stringify(content);
  return text.length <= lineLength ? text : JSON.stringify(content, null, 2);
}

function pathFor(path: string, target: RequestTarget | undefined): string {
  if (target?.name === undefined) return path;
  return path
    .replaceAll('{name}', encodeURIComponent(target.name))
    .replaceAll('{namespace}', segmentOf(target.namespace));
}

/** A path has something in each place. */
function segmentOf(namespace: string): string {
  return namespace === '' ? '-' : encodeURIComponent(namespace);
}
