import type { Logger } from 'pino';
import {
  EventLoopTurns,
  groupResource,
  isStatusError,
  newServiceUnavailable,
  type GroupResource,
  type JsonValue,
  type Model,
} from '#pkg/apimachinery/index';
import {
  builtinModels,
  configMapModel,
  consolePageModel,
  definitionModel,
  isDefinition,
  namespaceModel,
  pluginModel,
  resourceQuotaModel,
  secretModel,
  type CustomResourceDefinition,
} from '#pkg/apis/index';
import { isStorageError, type Change, type Store, type StoredObject } from '#pkg/storage/index';
import { ensureBootstrapRoles } from '../authorization/bootstrap/ensure-bootstrap-roles.ts';
import { permissionsIn } from '../authorization/escalation/computed-role.ts';
import { guardingStrategies } from '../authorization/escalation/guarding-strategies.ts';
import { RoleIndex } from '../authorization/role-index.ts';
import type { WebhookObserver } from '../conversion/conversion-webhook.ts';
import { ConversionWebhooks } from '../conversion/conversion-webhooks.ts';
import { InformerBus } from '../informer-bus/informer-bus.ts';
import type { WatchObserver } from '../informer-bus/watch-observer.ts';
import { consolePageStrategy } from '../console/console-page-strategy.ts';
import { configMapStrategy, secretStrategy } from './core/keyed-data-strategies.ts';
import { ConversionMonitor } from './definition/conversion-monitor.ts';
import { DefinitionCatalog } from './definition/definition-catalog.ts';
import { DefinitionLock } from './definition/definition-lock.ts';
import { DefinitionSettler } from './definition/definition-settler.ts';
import { DefinitionStrategy } from './definition/definition-strategy.ts';
import { DefinitionTerminator } from './definition/definition-terminator.ts';
import { DependentFinder } from './model/dependent-finder.ts';
import { InFlightIdempotencyKeys } from './model/in-flight-idempotency-keys.ts';
import type { KeyChecker } from './definition/index-keys-check.ts';
import { IndexBuildMonitor } from './definition/index-build-monitor.ts';
import { ModelTable } from './served/model-table.ts';
import { NameConflictResolver } from './definition/name-conflict-resolver.ts';
import { NamespaceLabeller } from './namespace/namespace-labeller.ts';
import { NamespaceSet } from './namespace/namespace-set.ts';
import { protectedNamespaces, namespaceStrategy } from './namespace/namespace-strategy.ts';
import { QuotaKeeper } from './quota/quota-keeper.ts';
import { resourceQuotaStrategy } from './quota/resource-quota-strategy.ts';
import { noSealer, type Sealer } from '../rest/sealer.ts';
import type { ModelRegistry, RegisteredModel, ServedResource } from '../rest/served-resource.ts';
import type { JsonApiObject, Strategy } from '../rest/strategy.ts';
import { systemWrite } from '../rest/write-context.ts';
import { WebhookPolicy, type WebhookPolicyOptions } from '../webhook/webhook-policy.ts';

/** Lock timeout for tables that the start must change while they are in use. Milliseconds. */
const startLockTimeoutMs = 120_000;

export interface PlatformRegistryOptions {
  store: Store;
  log: Logger;
  /** Maximum number of matches that a filtered page counts exactly. Default 10 000. */
  exactTotalLimit?: number;
  /** Models that need no definition. Default: `builtinModels`. */
  builtins?: readonly Model[];
  watchObserver?: WatchObserver;
  /**
   * Checks the functions of computed indexes before a definition is stored. Without a checker, definitions with such
   * indexes are rejected.
   */
  keyChecker?: KeyChecker;
  /** Which conversion webhooks may be called. Default: none. */
  webhooks?: WebhookPolicyOptions;
  webhookObserver?: WebhookObserver;
  /** Seals objects of confidential kinds. Without one, writes and reads of them are refused. */
  sealer?: Sealer;
}

/** Starts a registry; resolves when it serves every model. */
export async function createPlatformRegistry(options: PlatformRegistryOptions): Promise<PlatformRegistry> {
  const registry = new PlatformRegistry(options);
  try {
    await registry.start();
    return registry;
  } catch (error) {
    await registry.stop();
    throw error;
  }
}

/**
 * The models of the platform: the built-in ones and those that definitions declare. It follows the change feed
 * synchronously: after waiting for a revision, a caller finds the definitions and namespaces of that revision here.
 */
export class PlatformRegistry implements ModelRegistry {
  /** The permissions of users, from the stored roles and bindings. */
  readonly roles: RoleIndex;
  readonly #store: Store;
  readonly #log: Logger;
  readonly #builtins: readonly Model[];
  readonly #bus: InformerBus;
  readonly #webhooks: ConversionWebhooks;
  readonly #catalog: DefinitionCatalog;
  readonly #namespaces = new NamespaceSet((name) => this.#labeller.add(name));
  readonly #labeller: NamespaceLabeller;
  readonly #table: ModelTable;
  readonly #terminator: DefinitionTerminator;
  readonly #nameConflicts: NameConflictResolver;
  readonly #indexBuilds: IndexBuildMonitor;
  readonly #conversions: ConversionMonitor;
  /** Absent where tests serve a part of the built-in models. */
  readonly #quotas: QuotaKeeper | undefined;
  /** The fingerprint of definitions that this version of the server has judged. */
  readonly #judgedFingerprint: string;
  readonly #undo: (() => void)[] = [];
  readonly #abort = new AbortController();
  #isLoaded = false;
  #isReady = false;

  constructor({
    store,
    log,
    exactTotalLimit = 10_000,
    builtins = builtinModels,
    watchObserver,
    keyChecker,
    webhooks,
    webhookObserver,
    sealer = noSealer,
  }: PlatformRegistryOptions) {
    this.#store = store;
    this.#log = log;
    this.#builtins = builtins;
    this.#bus = new InformerBus({ changes: store.changes, log, observer: watchObserver });
    this.roles = new RoleIndex({ currentAt: () => store.changes.currentAt });
    this.#catalog = new DefinitionCatalog(builtins);
    this.#webhooks = new ConversionWebhooks(new WebhookPolicy(webhooks), webhookObserver);
    this.#labeller = new NamespaceLabeller({ storage: () => this.find('', 'v1', 'namespaces')?.storage, log });
    const dependents = new DependentFinder({ store, models: () => this.#table.all() });
    this.#table = new ModelTable(
      {
        store,
        bus: this.#bus,
        idempotencyKeys: new InFlightIdempotencyKeys(),
        namespaces: this.#namespaces,
        dependents,
        exactTotalLimit,
        sealer,
        webhooks: this.#webhooks,
      },
      log,
    );
    const lock = new DefinitionLock(store);
    const settler = new DefinitionSettler(store, this.#catalog);
    const strategies = new Map<Model, Strategy>([
      [definitionModel, new DefinitionStrategy({ store, catalog: this.#catalog, settler, lock, keyChecker })],
      [configMapModel, configMapStrategy],
      [consolePageModel, consolePageStrategy],
      [namespaceModel, namespaceStrategy],
      [resourceQuotaModel, resourceQuotaStrategy],
      [secretModel, secretStrategy],
      ...guardingStrategies({
        roles: this.roles,
        catchUp: () => this.#catchUp(),
        permissionsOf: (plugin) => this.#permissionsOf(plugin),
      }),
    ]);
    for (const model of builtins) this.#table.addBuiltin(model, strategies.get(model) ?? {});
    const { codec } = this.#table.get(groupResource(definitionModel))!.storageContext();
    this.#judgedFingerprint = codec.fingerprint;
    this.#terminator = new DefinitionTerminator({
      store,
      codec,
      log,
      contextOf: (resource) => this.#table.get(resource)?.storageContext(),
    });
    this.#nameConflicts = new NameConflictResolver({ store, codec, log, catalog: this.#catalog, settler, lock });
    this.#indexBuilds = new IndexBuildMonitor({ store, codec, log, catalog: this.#catalog });
    this.#conversions = new ConversionMonitor({
      store,
      codec,
      log,
      catalog: this.#catalog,
      webhooks: this.#webhooks,
    });
    const quotas = this.#table.get(groupResource(resourceQuotaModel))?.find(resourceQuotaModel.storageVersion);
    const isLimitable = (resource: GroupResource): boolean => this.#table.get(resource)?.model.scope === 'Namespaced';
    this.#quotas =
      quotas === undefined ? undefined : new QuotaKeeper({ store, storage: quotas.storage, isLimitable, log });
  }

  /** True when every stored model is served; false again once the registry stops. */
  get ready(): boolean {
    return this.#isReady;
  }

  get generation(): number {
    return this.#table.generation;
  }

  find(group: string, version: string, resource: string): ServedResource | undefined {
    return this.#table.get({ group, resource })?.find(version);
  }

  async findNewest(group: string, version: string, resource: string): Promise<ServedResource | undefined> {
    await this.#catchUp();
    return this.find(group, version, resource);
  }

  models(): readonly RegisteredModel[] {
    return this.#table.all().map(({ model, terminating, fromDefinition }) => ({ model, terminating, fromDefinition }));
  }

  async hasNamespace(name: string): Promise<boolean> {
    if (this.#namespaces.has(name)) return true;
    await this.#catchUp();
    return this.#namespaces.has(name);
  }

  async start(): Promise<void> {
    for (const model of this.#builtins) await this.#store.ensureModel(model, startLockTimeoutMs);
    const followed = await Promise.allSettled([
      this.#follow(groupResource(namespaceModel), {
        load: ({ name, body }) => this.#namespaces.put(name, body),
        change: (change) => this.#namespaces.apply(change),
      }),
      ...Array.from(this.roles.followers, ([model, follower]) =>
        this.#follow(groupResource(model), {
          load: (stored) => follower.put(stored),
          change: (change) => (change.type === 'delete' ? follower.remove(change) : follower.put(change)),
        }),
      ),
      this.#follow(groupResource(definitionModel), {
        load: (stored) => this.#putDefinition(stored),
        change: (change) => this.#applyDefinition(change),
      }),
    ]);
    for (const result of followed) if (result.status === 'rejected') throw result.reason;
    // Only after all definitions are known: names are judged against those of all other definitions.
    this.#isLoaded = true;
    await this.#attendToAll();
    for (const name of protectedNamespaces) await this.#ensureNamespace(name);
    await ensureBootstrapRoles({
      storageOf: (model) => this.#table.get(groupResource(model))!.find(model.storageVersion)!.storage,
      signal: this.#abort.signal,
    });
    await this.#catchUp();
    await this.#indexBuilds.resume(startLockTimeoutMs);
    await this.#quotas?.start();
    this.#labeller.start();
    this.#isReady = true;
  }

  /** Ends all watches and background work, and resolves afterwards. The store stays open. */
  async stop(): Promise<void> {
    this.#isReady = false;
    this.#abort.abort();
    for (const undo of this.#undo.splice(0)) undo();
    this.#bus.stop();
    this.#webhooks.stop();
    await Promise.all([
      this.#terminator.stop(),
      this.#nameConflicts.stop(),
      this.#indexBuilds.stop(),
      this.#conversions.stop(),
      this.#quotas?.stop(),
      this.#labeller.stop(),
    ]);
  }

  /** Loads a model's objects and then receives every change of them, in order, each exactly once. */
  async #follow(
    resource: GroupResource,
    { load, change }: { load: (stored: StoredObject) => void; change: (change: Change) => void },
  ): Promise<void> {
    const modelId = (await this.#store.changes.incarnationOf(resource))?.modelId;
    if (modelId === undefined) throw new Error(`the store has no model ${resource.resource}`);
    const early: Change[] = [];
    // The list may be older or newer than the feed: changes that it already contains are skipped.
    let loaded: number | undefined;
    const take = (each: Change): void => {
      if (loaded === undefined) early.push(each);
      else if (each.revision > loaded) change(each);
    };
    this.#undo.push(this.#bus.observe(modelId, take));
    const stream = await this.#store.stream(resource, {
      selector: { labels: [], fields: [] },
      sort: [],
      order: 'sort',
    });
    const turns = new EventLoopTurns();
    for await (const batch of stream.objects) {
      for (const stored of batch) {
        load(stored);
        if (turns.due) await turns.next();
      }
    }
    loaded = stream.revision;
    early.forEach(take);
    if (this.#bus.cursor < loaded) await this.#store.changes.catchUp();
  }

  async #permissionsOf(plugin: string): Promise<JsonValue[] | undefined> {
    const storage = this.#table.get(groupResource(pluginModel))?.find(pluginModel.storageVersion)?.storage;
    try {
      const stored = await storage?.get({ namespace: '', name: plugin });
      return stored === undefined ? undefined : permissionsIn(JSON.parse(stored.text) as JsonApiObject);
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** Without the newest changes the answer is 503, never 404. */
  async #catchUp(): Promise<void> {
    try {
      await this.#store.changes.catchUp();
    } catch (error) {
      this.#log.warn({ err: error }, 'the newest changes could not be read');
      throw newServiceUnavailable(
        isStorageError(error, 'Unavailable') ? error.message : 'the database does not answer at present',
      );
    }
  }

  #applyDefinition(change: Change): void {
    if (change.type !== 'delete') {
      this.#putDefinition(change);
      return;
    }
    const known = this.#catalog.remove(change.name);
    this.#webhooks.forget(change.name);
    this.#conversions.remove(change.name);
    this.#table.remove(change.name);
    if (known !== undefined) this.#nameConflicts.add(known.definition.spec.group);
  }

  #putDefinition({
    name,
    revision,
    body,
    fingerprint,
  }: Pick<StoredObject, 'name' | 'revision' | 'body' | 'fingerprint'>): void {
    const definition = JSON.parse(body) as CustomResourceDefinition;
    this.#table.apply(definition, { judged: fingerprint === this.#judgedFingerprint });
    if (!isDefinition(definition)) {
      this.#catalog.remove(name);
      return;
    }
    this.#catalog.put({ revision, definition });
    if (this.#isLoaded) this.#attendTo(definition);
  }

  /** Adds a definition to all background work. */
  #attendTo(definition: CustomResourceDefinition): void {
    this.#terminator.add(definition);
    this.#indexBuilds.add(definition);
    this.#conversions.add(definition);
    this.#nameConflicts.add(definition.spec.group);
  }

  /** Adds all definitions to the background work, group by group, because each group's names are judged together. */
  async #attendToAll(): Promise<void> {
    const turns = new EventLoopTurns();
    const groups = new Set<string>();
    for (const { definition } of this.#catalog.all()) {
      this.#terminator.add(definition);
      this.#indexBuilds.add(definition);
      this.#conversions.add(definition);
      groups.add(definition.spec.group);
      if (turns.due) await turns.next();
    }
    for (const group of groups) this.#nameConflicts.add(group);
  }

  async #ensureNamespace(name: string): Promise<void> {
    if (this.#namespaces.has(name)) return;
    const storage = this.find('', 'v1', 'namespaces')?.storage;
    try {
      await storage?.create(
        '',
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
        systemWrite(this.#abort.signal),
      );
    } catch (error) {
      // Another replica that starts at the same time may have created it.
      if (!isStatusError(error, 'AlreadyExists')) throw error;
    }
  }
}
