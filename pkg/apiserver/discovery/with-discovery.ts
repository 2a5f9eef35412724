import { newNotAcceptable, newUnknownPath, StatusError } from '#pkg/apimachinery/index';
import { negotiate, type Filter } from '#pkg/http/index';
import type { ModelRegistry } from '../rest/served-resource.ts';
import { answerDocument } from './answer-document.ts';
import { DiscoveryDocuments, type DiscoveryFormat } from './discovery-documents.ts';

const legacy: readonly DiscoveryFormat[] = [{ type: 'application/json' }];
const all: readonly DiscoveryFormat[] = [...legacy, aggregated('v2'), aggregated('v2beta1')];

/**
 * Answers `/api`, `/apis`, `/api/<version>`, `/apis/<group>` and `/apis/<group>/<version>`, and no other path: a
 * filter, since no endpoint group may own all paths below those. `/api` and `/apis` also have the aggregated form.
 * @throws StatusError 404 for a group or version that is not served, 405, 406
 */
export function withDiscovery(registry: Pick<ModelRegistry, 'models' | 'generation'>): Filter {
  const documents = new DiscoveryDocuments(registry);
  return (next) => async (context) => {
    const { request, response, info } = context;
    const segments = discoverySegments(info.path);
    if (segments === undefined) {
      await next(context);
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('Allow', 'GET, HEAD');
      throw new StatusError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource');
    }
    const format = negotiate(request.headers.accept, segments.length === 1 ? all : legacy);
    if (format === undefined) throw newNotAcceptable('only the following media types are accepted: application/json');
    const document = documents.find(segments, format);
    if (document === undefined) throw newUnknownPath();
    await answerDocument(context, document);
  };
}

function discoverySegments(path: string): string[] | undefined {
  const segments = path.slice(1).split('/');
  const deepest = segments[0] === 'api' ? 2 : segments[0] === 'apis' ? 3 : 0;
  return segments.length > deepest || segments.includes('') ? undefined : segments;
}

function aggregated(v: 'v2' | 'v2beta1'): DiscoveryFormat {
  return { type: 'application/json', parameters: { g: 'apidiscovery.k8s.io', v, as: 'APIGroupDiscoveryList' } };
}
