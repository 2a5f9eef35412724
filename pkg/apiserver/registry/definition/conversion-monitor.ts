import type { Logger } from 'pino';
import { formatApiVersion } from '#pkg/apimachinery/index';
import type { CustomResourceDefinition } from '#pkg/apis/index';
import type { Store } from '#pkg/storage/index';
import type { WebhookState } from '../../conversion/conversion-webhook.ts';
import type { ConversionWebhooks } from '../../conversion/conversion-webhooks.ts';
import { BackgroundQueue } from '../model/background-queue.ts';
import type { VersionCodec } from '../model/version-codec.ts';
import type { DefinitionCatalog } from './definition-catalog.ts';
import {
  conversionReady,
  definitionConditionOf,
  isTerminating,
  withDefinitionCondition,
  withoutDefinitionCondition,
} from './definition-conditions.ts';
import { rewriteDefinition } from './rewrite-definition.ts';

export interface ConversionMonitorOptions {
  store: Store;
  codec: VersionCodec;
  catalog: DefinitionCatalog;
  webhooks: ConversionWebhooks;
  log: Logger;
}

/** Pause between two calls of a webhook that does not answer: doubles from the first to the last. Milliseconds. */
const firstPauseMs = 1_000;
const maxPauseMs = 30_000;

/**
 * Keeps the condition ConversionReady of each definition with a conversion webhook. It calls a webhook when its
 * definition is new or changed, and until it answers again after it did not. The calls of requests count as well.
 */
export class ConversionMonitor {
  readonly #options: ConversionMonitorOptions;
  readonly #queue: BackgroundQueue;
  /** The conversion of each definition that was looked at, as JSON. */
  readonly #known = new Map<string, string>();
  readonly #states = new Map<string, WebhookState>();
  /** When each condition was written. */
  readonly #writtenAt = new Map<string, number>();

  constructor(options: ConversionMonitorOptions) {
    this.#options = options;
    const { log, webhooks } = options;
    this.#queue = new BackgroundQueue({
      name: 'the check of a conversion webhook',
      work: (name, signal) => this.#look(name, signal),
      log,
      firstPauseMs,
      maxPauseMs,
    });
    webhooks.observe((name, state) => {
      this.#states.set(name, state);
      this.#queue.add(name);
    });
  }

  /** Call it when the definition was created or changed. */
  add(definition: CustomResourceDefinition): void {
    const { name } = definition.metadata;
    const { conversion } = definition.spec;
    const hasCondition = definitionConditionOf(definition, 'ConversionReady') !== undefined;
    if (conversion?.strategy !== 'Webhook' && !hasCondition) {
      this.remove(name);
      return;
    }
    const text = JSON.stringify(conversion ?? null);
    if (this.#known.get(name) === text && hasCondition) return;
    if (this.#known.get(name) !== text) this.#states.delete(name);
    this.#known.set(name, text);
    this.#queue.add(name);
  }

  remove(name: string): void {
    this.#known.delete(name);
    this.#states.delete(name);
    this.#writtenAt.delete(name);
    this.#queue.remove(name);
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #look(name: string, signal: AbortSignal): Promise<'done' | 'again'> {
    const { catalog, webhooks } = this.#options;
    const definition = catalog.get(name)?.definition;
    if (definition === undefined || isTerminating(definition)) return 'done';
    if (definition.spec.conversion?.strategy !== 'Webhook') return this.#write(name, undefined);
    const known = this.#states.get(name);
    const webhook = webhooks.get(name);
    // The names are not accepted: the model is not served.
    if (webhook === undefined) return 'done';
    const { group, versions } = definition.spec;
    const version = versions.find(({ storage }) => storage)?.name ?? '';
    if (known === undefined || isAway(known)) await webhook.probe(formatApiVersion({ group, version }), signal);
    return this.#write(name, this.#states.get(name));
  }

  /** A webhook whose answers are wrong for some objects only must not keep the definition changing. */
  async #write(name: string, state: WebhookState | undefined): Promise<'done' | 'again'> {
    const now = performance.now();
    if (now < (this.#writtenAt.get(name) ?? -firstPauseMs) + firstPauseMs) return 'again';
    this.#writtenAt.set(name, now);
    await rewriteDefinition(this.#options, name, (stored) => {
      if (isTerminating(stored)) return stored;
      if (stored.spec.conversion?.strategy !== 'Webhook') return withoutDefinitionCondition(stored, 'ConversionReady');
      return state === undefined ? stored : withDefinitionCondition(stored, conversionReady(state));
    });
    return state !== undefined && isAway(state) ? 'again' : 'done';
  }
}

/** Only another option or another definition makes a webhook allowed. */
function isAway({ reason }: WebhookState): boolean {
  return reason === 'WebhookUnreachable' || reason === 'WebhookAnswersWrong';
}
