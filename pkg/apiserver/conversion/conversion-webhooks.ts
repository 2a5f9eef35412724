import { equalJson, formatGroupResource, groupResource, type JsonObject, type Model } from '#pkg/apimachinery/index';
import type { WebhookPolicy } from '../webhook/webhook-policy.ts';
import { ConversionWebhook, type WebhookObserver, type WebhookState } from './conversion-webhook.ts';

interface Open {
  conversion: NonNullable<Model['conversion']>;
  webhook: ConversionWebhook;
}

/** The webhooks of all definitions, each opened when its model is served. */
export class ConversionWebhooks {
  readonly #policy: WebhookPolicy;
  readonly #callObserver: WebhookObserver | undefined;
  readonly #open = new Map<string, Open>();
  /** Those, and replaced ones that still have calls under way. */
  readonly #all = new Set<ConversionWebhook>();
  #observer: (definition: string, state: WebhookState) => void = () => undefined;

  constructor(policy: WebhookPolicy, callObserver?: WebhookObserver) {
    this.#policy = policy;
    this.#callObserver = callObserver;
  }

  /** Calls `observer` when the webhook of a definition begins to answer, or stops. */
  observe(observer: (definition: string, state: WebhookState) => void): void {
    this.#observer = observer;
  }

  /** The webhook of a model, which replaces the one that the model had; undefined if the model has none. */
  of(model: Model): ConversionWebhook | undefined {
    const name = formatGroupResource(groupResource(model));
    const { conversion } = model;
    const present = this.#open.get(name);
    if (present !== undefined && conversion !== undefined && isEqual(present.conversion, conversion))
      return present.webhook;
    this.forget(name);
    if (conversion === undefined) return undefined;
    const webhook: ConversionWebhook = new ConversionWebhook({
      conversion,
      policy: this.#policy,
      observer: this.#callObserver,
      onState: (state) => {
        if (this.#open.get(name)?.webhook === webhook) this.#observer(name, state);
      },
      onClosed: () => void this.#all.delete(webhook),
    });
    this.#open.set(name, { conversion, webhook });
    this.#all.add(webhook);
    return webhook;
  }

  /** By the definition's name. */
  get(definition: string): ConversionWebhook | undefined {
    return this.#open.get(definition)?.webhook;
  }

  forget(definition: string): void {
    this.#open.get(definition)?.webhook.retire();
    this.#open.delete(definition);
  }

  /** Ends all connections. */
  stop(): void {
    for (const webhook of this.#all) webhook.close();
    this.#open.clear();
  }
}

function isEqual(a: Open['conversion'], b: Open['conversion']): boolean {
  return equalJson(a as unknown as JsonObject, b as unknown as JsonObject);
}
