import { isStatusError } from '#pkg/apimachinery/index';
import type { ListRequest } from '../../rest/served-resource.ts';
import { parseSelector } from '../read/list-options.ts';
import { checkRevision, currentRevision } from '../request/resource-version.ts';
import { copiesOfReplay, requestReadBudget } from '../request/request-read-budget.ts';
import { servedKind, type ResourceRequest } from '../request/resource-request.ts';
import { tableColumns } from '../../table/table-columns.ts';
import { WatchConnection, type WatchCarrier } from './watch-connection.ts';
import { watchFormat, type WatchFormat } from './watch-format.ts';
import { recheckAccess } from './recheck-access.ts';
import { parseWatchParameters, type WatchParameters } from './watch-parameters.ts';

/** GET of a collection's changes, as JSON lines, server-sent events or messages of a WebSocket. */
export async function watch(request: ResourceRequest): Promise<void> {
  const { context, served } = request;
  const format = watchFormat(
    context.request.headers.accept,
    { query: context.query, columns: () => tableColumns(served) },
    { isWebSocket: context.webSocket !== undefined },
  );
  await watchAs(request, format);
}

/** The same in a format; `carrier`: the answer that carries it among others. */
export async function watchAs(request: ResourceRequest, format: WatchFormat, carrier?: WatchCarrier): Promise<void> {
  const { context, served, namespace, options } = request;
  const { headers, method } = context.request;
  const lastEventId = format.isEventStream ? headers['last-event-id'] : undefined;
  const parameters = parseWatchParameters(
    context.query,
    options.watch,
    typeof lastEventId === 'string' ? lastEventId : undefined,
  );
  const query: ListRequest = {
    ...(namespace === undefined ? {} : { namespace }),
    selector: parseSelector(context.query, served),
    sort: [],
    readBudget: requestReadBudget(context),
    signal: context.signal,
  };
  const { bookmarks, durationMs } = parameters;
  const connection = new WatchConnection({
    context,
    kind: servedKind(served),
    format,
    bookmarks,
    durationMs,
    timing: options.watch,
    observer: options.watchObserver,
    carrier,
  });
  const { recheck } = request;
  const stopChecking =
    recheck &&
    recheckAccess({
      recheck: () => recheck(context),
      everyMs: options.watch.recheckMs,
      onLost: (error) => connection.fail(error),
    });
  try {
    if (method === 'HEAD') connection.close();
    else await run(request, { query, parameters, connection, byRevision: format.isEventStream });
  } catch (error) {
    // A revision that is no longer kept is reported within the stream, as clients expect; so is any failure after the
    // headers.
    if (!isStatusError(error) || !(error.reason === 'Expired' || context.response.headersSent)) throw error;
    connection.fail(error);
  } finally {
    stopChecking?.();
    connection.dispose();
  }
}

interface WatchRun {
  query: ListRequest;
  parameters: WatchParameters;
  connection: WatchConnection;
  /** Initial objects in the order of their revisions, so that a client can resume among them. */
  byRevision: boolean;
}

async function run(request: ResourceRequest, watchRun: WatchRun): Promise<void> {
  const { storage } = request.served;
  const { query, connection } = watchRun;
  const after = await begin(request, watchRun);
  if (connection.over) return;
  const stream = await storage.watch({
    ...query,
    after,
    sink: connection,
    readBudget: requestReadBudget(request.context, copiesOfReplay),
  });
  try {
    connection.begin();
    connection.follow(stream);
    await connection.ended;
  } finally {
    stream.stop();
  }
}

/** Writes the initial objects and returns the revision after which the changes begin. */
async function begin(
  { served: { reads }, context }: ResourceRequest,
  { query, parameters, connection, byRevision }: WatchRun,
): Promise<number> {
  const { start, marksInitialEnd } = parameters;
  if (start.type === 'after') return start.revision;
  if (start.type === 'now') return await currentRevision(reads, context.signal);
  const present = await reads.stream({ ...query, order: byRevision ? 'revision' : 'sort' });
  try {
    await checkRevision(reads, { at: start.notOlderThan, exact: false }, present.revision);
    connection.begin();
    for await (const batch of present.objects) {
      await connection.writeObjects(batch);
      if (connection.over) break;
    }
  } finally {
    await present.close();
    context.bytes.lowerTo(0);
  }
  // In an event stream the bookmark sets the id to the snapshot's revision: the id of the last object may be too old to
  // resume from.
  if (marksInitialEnd || byRevision) connection.bookmark(present.revision, { endsInitialEvents: marksInitialEnd });
  return present.revision;
}
