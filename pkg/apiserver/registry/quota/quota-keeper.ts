import type { Logger } from 'pino';
import {
  type ApiObject,
  equalJson,
  groupResource,
  type GroupResource,
  isStatusError,
  type JsonObject,
} from '#pkg/apimachinery/index';
import { definitionModel, resourceQuotaModel, type ResourceQuota } from '#pkg/apis/index';
import type { Change, QuotaUsage, Store } from '#pkg/storage/index';
import type { ResourceStorage } from '../../rest/served-resource.ts';
import { systemWrite } from '../../rest/write-context.ts';
import { BackgroundQueue } from '../model/background-queue.ts';
import { areInForce, limitsOf, statusOf } from './quota-limits.ts';

const resource = groupResource(resourceQuotaModel);

export interface QuotaKeeperOptions {
  store: Store;
  /** Of quotas. */
  storage: ResourceStorage;
  /** Is there such a model, and are its objects in namespaces? */
  isLimitable: (resource: GroupResource) => boolean;
  log: Logger;
  /** Shortest time between two statuses of one quota. Milliseconds, default 1000. */
  everyMs?: number;
}

/**
 * Gives the limits of ResourceQuotas to the store, has it count what is there, and writes what is used into their
 * status. Each replica does so, one at a time; all but the first find nothing to do. It does nothing while nothing
 * changes.
 */
export class QuotaKeeper {
  readonly #options: Required<QuotaKeeperOptions>;
  readonly #counts: BackgroundQueue;
  readonly #abort = new AbortController();
  /** Namespaces with quotas. */
  readonly #kept = new Set<string>();
  /** Namespaces whose quotas or usage changed. */
  readonly #due = new Set<string>();
  /** A model came or went since the last round. */
  #areModelsChanged = true;
  /** When a quota of the namespace last changed, its status too. Values of `performance.now()`. */
  readonly #changedAt = new Map<string, number>();
  #modelIds: { quotas: number | undefined; definitions: number | undefined } | undefined;
  #unsubscribe: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  /** The last round failed: the next one waits longer. */
  #hasFailed = false;

  constructor(options: QuotaKeeperOptions) {
    this.#options = { everyMs: 1_000, ...options };
    this.#counts = new BackgroundQueue({
      name: 'the count of what a quota limits',
      log: options.log,
      work: async (namespace, signal) => {
        const { store } = this.#options;
        await store.runExclusively(`quota ${namespace}`, (held) => store.quotas.count(namespace, held), signal);
        this.#add(namespace, 0);
        return 'done';
      },
    });
  }

  /** Resolves when all namespaces with quotas are known. */
  async start(): Promise<void> {
    const { store } = this.#options;
    const idOf = async (model: typeof definitionModel): Promise<number | undefined> =>
      (await store.changes.incarnationOf(groupResource(model)))?.modelId;
    this.#modelIds = { quotas: await idOf(resourceQuotaModel), definitions: await idOf(definitionModel) };
    this.#abort.signal.throwIfAborted();
    this.#unsubscribe = store.changes.subscribe((changes) => {
      for (const change of changes) this.#observe(change);
    });
    for (const namespace of [...(await this.#namespacesWithQuotas()), ...(await store.quotas.namespaces())])
      this.#add(namespace, 0);
  }

  /** Resolves when the running work has ended. */
  async stop(): Promise<void> {
    this.#abort.abort();
    this.#unsubscribe?.();
    clearTimeout(this.#timer);
    await Promise.all([this.#counts.stop(), this.#round]);
  }

  #observe({ modelId, namespace, type, body, old }: Change): void {
    if (modelId === this.#modelIds?.quotas) {
      this.#changedAt.set(namespace, performance.now());
      if (type !== 'update' || generationOf(body) !== generationOf(old!.body)) this.#add(namespace, 0);
    } else if (this.#kept.has(namespace)) this.#add(namespace);
    // A model that comes or goes changes what is limited.
    else if (modelId === this.#modelIds?.definitions) for (const each of this.#kept) this.#add(each, 0);
  }

  #add(namespace: string, delayMs = this.#options.everyMs): void {
    this.#kept.add(namespace);
    this.#due.add(namespace);
    if (this.#timer !== undefined || this.#round !== undefined || this.#abort.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#round = this.#runRound().finally(() => {
        this.#round = undefined;
        const [next] = this.#due;
        if (next !== undefined) this.#add(next, this.#hasFailed ? this.#options.everyMs * 5 : undefined);
      });
    }, delayMs);
  }

  async #runRound(): Promise<void> {
    const { store, log } = this.#options;
    const namespaces = [...this.#due];
    this.#due.clear();
    this.#hasFailed = false;
    try {
      await store.runExclusively('quotas', (held) => this.#keepAll(namespaces, held), this.#abort.signal);
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.#hasFailed = true;
      for (const namespace of namespaces) this.#due.add(namespace);
      log.warn({ err: error }, 'the status of quotas could not be updated; trying again');
    }
  }

  async #keepAll(namespaces: readonly string[], held: AbortSignal): Promise<void> {
    const { store, everyMs } = this.#options;
    // What the replica before has written.
    await store.changes.catchUp();
    const quotas = new Map<string, ResourceQuota[]>();
    for (const namespace of namespaces) {
      held.throwIfAborted();
      quotas.set(namespace, await this.#quotasOf(namespace));
    }
    if (this.#areModelsChanged) {
      this.#areModelsChanged = false;
      await store.quotas.limitTables();
    }
    const before = await store.quotas.usage(namespaces);
    for (const [namespace, own] of quotas)
      await this.#attempt(namespace, () => this.#setLimits(namespace, own, before.get(namespace) ?? []));
    const usages = await store.quotas.usage(namespaces);
    for (const [namespace, own] of quotas) {
      held.throwIfAborted();
      const usage = usages.get(namespace) ?? [];
      if (usage.some(({ mustCount }) => mustCount) && !this.#counts.has(namespace)) this.#counts.add(namespace);
      if (own.length === 0) this.#forget(namespace);
      else if (performance.now() - (this.#changedAt.get(namespace) ?? -Infinity) < everyMs) this.#due.add(namespace);
      else
        await this.#attempt(namespace, async () => {
          for (const quota of own) await this.#writeStatus(quota, usage);
        });
    }
  }

  /** A failure delays this namespace alone. */
  async #attempt(namespace: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (this.#abort.signal.aborted) throw error;
      this.#hasFailed = true;
      this.#due.add(namespace);
      this.#options.log.warn({ err: error, namespace }, 'the quotas of a namespace could not be kept; trying again');
    }
  }

  async #setLimits(namespace: string, quotas: readonly ResourceQuota[], usage: readonly QuotaUsage[]): Promise<void> {
    const { store, isLimitable } = this.#options;
    const limits = limitsOf(quotas).filter(({ resource: of }) => of === undefined || isLimitable(of));
    if (!areInForce(limits, usage)) await store.quotas.set(namespace, limits);
  }

  #forget(namespace: string): void {
    if (this.#due.has(namespace)) return;
    this.#kept.delete(namespace);
    this.#changedAt.delete(namespace);
  }

  async #writeStatus(quota: ResourceQuota, usage: readonly QuotaUsage[]): Promise<void> {
    const { name, namespace = '', uid } = quota.metadata;
    const wanted = (of: ResourceQuota): JsonObject => statusOf(of, usage, Date.now());
    if (equalJson(wanted(quota), quota.status as JsonObject | undefined)) return;
    try {
      await this.#options.storage.update(
        {
          key: { namespace, name },
          subresource: 'status',
          preconditions: uid === undefined ? {} : { uid },
          transform: (current) => ({ ...(current as JsonObject), status: wanted(current as ResourceQuota) }),
        },
        systemWrite(this.#abort.signal),
      );
    } catch (error) {
      // It was deleted or made anew, and that is a change of its own.
      if (!isStatusError(error, 'NotFound') && !isStatusError(error, 'Conflict')) throw error;
    }
  }

  async #quotasOf(namespace: string): Promise<ResourceQuota[]> {
    const quotas: ResourceQuota[] = [];
    for await (const quota of this.#read(namespace)) quotas.push(quota);
    return quotas;
  }

  async #namespacesWithQuotas(): Promise<Set<string>> {
    const namespaces = new Set<string>();
    for await (const { metadata } of this.#read()) namespaces.add(metadata.namespace ?? '');
    return namespaces;
  }

  async *#read(namespace?: string): AsyncGenerator<ResourceQuota> {
    const stream = await this.#options.store.stream(resource, {
      ...(namespace === undefined ? {} : { namespace }),
      selector: { labels: [], fields: [] },
      sort: [],
      order: 'sort',
      signal: this.#abort.signal,
    });
    for await (const batch of stream.objects) for (const { body } of batch) yield JSON.parse(body) as ResourceQuota;
  }
}

/** It changes with the limits, and not with the status. */
function generationOf(body: string): number | undefined {
  return (JSON.parse(body) as ApiObject).metadata.generation;
}
