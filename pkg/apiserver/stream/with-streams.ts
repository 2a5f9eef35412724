import { groupResource, newMethodNotAllowed, newUnknownPath } from '#pkg/apimachinery/index';
import { streamModel } from '#pkg/apis/index';
import type { Filter, RequestContext } from '#pkg/http/index';
import { defaultHandlerOptions, type HandlerOptions } from '../handlers/options/handler-options.ts';
import { streamFormat } from '../handlers/watch/watch-format.ts';
import type { RegisteredModel } from '../rest/served-resource.ts';
import { readStream } from './read-stream.ts';
import { runStream, type StreamParts } from './run-stream.ts';

/** Streams in discovery. */
export const registeredStreams: RegisteredModel = {
  model: streamModel,
  terminating: false,
  fromDefinition: false,
  verbs: ['create'],
};

export interface WithStreamsOptions extends Omit<StreamParts, 'options'> {
  /** Default: `defaultHandlerOptions`. */
  options?: Partial<HandlerOptions> | undefined;
}

/**
 * Answers `POST /apis/stream.svc.run/v1alpha1/streams` with JSON lines: the events of several watches, each with the id
 * of its subscription.
 * @throws StatusError 400, 404, 405, 406, 408, 413, 415, 422, before the answer begins
 */
export function withStreams({ options, ...parts }: WithStreamsOptions): Filter {
  const all = { ...parts, options: { ...defaultHandlerOptions, ...options } };
  const { group, names, storageVersion } = streamModel;
  return (next) => async (context) => {
    const { info } = context;
    const isStream =
      info.isResourceRequest &&
      info.group === group &&
      info.version === storageVersion &&
      info.resource === names.plural;
    if (!isStream) return next(context);
    checkPath(context);
    const format = streamFormat(context.request.headers.accept);
    const request = await readStream(context);
    context.carriesWatches = true;
    // Its watches are recorded instead.
    context.audit?.markStored();
    await runStream(context, request, { format, parts: all });
  };
}

function checkPath({ info, response }: RequestContext): void {
  if (info.rest.length > 0 || info.subresource !== '' || info.namespace !== '') throw newUnknownPath();
  if (info.verb === 'create' && info.name === '') return;
  response.setHeader('Allow', 'POST');
  throw newMethodNotAllowed(groupResource(streamModel), info.verb);
}
