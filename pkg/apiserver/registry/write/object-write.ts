import type { JsonObject, ObjectKey } from '#pkg/apimachinery/index';
import type { StoredObject } from '#pkg/storage/index';
import type { DeleteRequest, UpdateRequest } from '../../rest/served-resource.ts';
import type { JsonApiObject, WriteIntent } from '../../rest/strategy.ts';
import type { WriteContext, WriteMemory } from '../../rest/write-context.ts';
import type { ModelContext } from '../model/model-context.ts';
import { ObjectConversions } from './object-conversions.ts';

/** The client's request. PUT, PATCH, `/status` and `/scale` are updates. */
export type WriteRequest =
  | { verb: 'create'; namespace: string; body: JsonObject; isApplied?: boolean; appliesNull?: boolean }
  | ({ verb: 'update' } & UpdateRequest)
  | ({ verb: 'delete' } & DeleteRequest);

/**
 * The state of one write while it passes through the steps. A step reads fields that earlier steps set, and sets its
 * own; a new attempt sets all of them again.
 */
export class ObjectWrite implements WriteIntent {
  readonly context: WriteContext;
  readonly request: WriteRequest;
  /** Replaced by the current one when the definition was changed. */
  model: ModelContext;
  /** The name is '' until it is known. */
  key: ObjectKey;
  /** Number of names generated so far, because the client sent only generateName. */
  generatedNames = 0;
  /** Undefined where the request has already reserved the memory for this object. */
  memory: WriteMemory | undefined;
  /** Releases the memory that this attempt reserved. */
  endParsing: (() => void) | undefined;

  /**
   * May `from` be outdated, because it is what this process saw last? Then the attempt counts only if it reaches the
   * store, which compares the revision; otherwise the next one reads the database.
   */
  mayBeOutdated: boolean;
  /** For update and delete: the stored object. `old` is the same object in the form of the request's version. */
  from: StoredObject | undefined;
  old: JsonApiObject | undefined;
  /** `from` in the form of the request's version, where a webhook has converted it. */
  shownFrom: StoredObject | undefined;
  /** For create and update: the desired object, as sent or patched. Must not be modified. */
  body: JsonObject = {};
  /** Number of values and keys that defaults may add. */
  valuesLeft = 0;
  /** The object as processed so far: first in the form of the request's version, finally in the stored form. */
  object!: JsonApiObject;
  /**
   * The operation in the store: an update deletes an object that loses its last finalizer, and a deletion may only mark
   * one.
   */
  type: WriteIntent['type'];
  /** The write changes nothing. */
  isUnchanged = false;
  /** The body of the outcome in the form of the request's version, where a webhook has converted it. */
  shown: string | undefined;
  /** The outcome. */
  stored!: StoredObject;
  /** The outcome is that of an earlier request under the same Idempotency-Key. */
  isReplayed = false;

  #conversions: ObjectConversions | undefined;

  constructor(model: ModelContext, context: WriteContext, request: WriteRequest) {
    this.model = model;
    this.context = context;
    this.request = request;
    this.type = request.verb;
    this.key = request.verb === 'create' ? { namespace: request.namespace, name: '' } : request.key;
    this.memory = context.memory;
    this.mayBeOutdated = request.verb !== 'create' && !context.dryRun && model.converter === undefined;
  }

  /** Set where a webhook converts. */
  get conversions(): ObjectConversions | undefined {
    const { converter } = this.model;
    if (converter === undefined) return undefined;
    if (this.#conversions?.converter !== converter) this.#conversions = new ObjectConversions(converter);
    return this.#conversions;
  }

  endAttempt(): void {
    this.endParsing?.();
    this.endParsing = undefined;
  }
}

/** Thrown by a step: the write starts again from the first step. */
export class StartAgain extends Error {}
