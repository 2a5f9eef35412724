import type { JsonObject, ObjectKey } from '#pkg/apimachinery/index';
import type { StoredObject } from '#pkg/storage/index';
import type { DeleteRequest, UpdateRequest } from '../../rest/served-resource.ts';
import type { JsonApiObject, WriteIntent } from '../../rest/strategy.ts';
import type { WriteContext, WriteMemory } from '../../rest/write-context.ts';
import type { ModelContext } from '../model/model-context.ts';

/** What the client asks for. PUT, PATCH, `/status` and `/scale` are updates. */
export type WriteRequest =
  | { verb: 'create'; namespace: string; body: JsonObject }
  | ({ verb: 'update' } & UpdateRequest)
  | ({ verb: 'delete' } & DeleteRequest);

/**
 * The write of one object on its way through the steps. A step reads what earlier steps filled in, and fills in its own
 * part; a new attempt fills in all of it again.
 */
export class ObjectWrite implements WriteIntent {
  readonly context: WriteContext;
  readonly request: WriteRequest;
  /** Replaced by the present one when the definition was changed. */
  model: ModelContext;
  /** The name is '' until it is known. */
  key: ObjectKey;
  /** Names that were generated for it, for the client sent none. */
  generatedNames = 0;
  /** Undefined where the request has reserved the memory for this object already. */
  memory: WriteMemory | undefined;
  /** Ends what this attempt reserved of it. */
  endParsing: (() => void) | undefined;

  /** Of update and delete: what is stored, and the same in the form of the request's version. */
  from: StoredObject | undefined;
  old: JsonApiObject | undefined;
  /** Of create and update: what the client wants, as it was sent or patched. Not to be changed. */
  body: JsonObject = {};
  /** Values and keys that defaults may add. */
  valuesLeft = 0;
  /** As far as the steps have made it: at first in the form of the request's version, at last in the stored form. */
  object!: JsonApiObject;
  /** What the store does: an update deletes an object that loses its last finalizer, a deletion may only mark one. */
  type: WriteIntent['type'];
  /** There is nothing to store. */
  isUnchanged = false;
  /** The outcome. */
  stored!: StoredObject;
  /** The outcome is that of an earlier request under the same Idempotency-Key. */
  isReplayed = false;

  constructor(model: ModelContext, context: WriteContext, request: WriteRequest) {
    this.model = model;
    this.context = context;
    this.request = request;
    this.type = request.verb;
    this.key = request.verb === 'create' ? { namespace: request.namespace, name: '' } : request.key;
    this.memory = context.memory;
  }

  endAttempt(): void {
    this.endParsing?.();
    this.endParsing = undefined;
  }
}

/** Thrown by a step: the write starts again from the first step. */
export class StartAgain extends Error {}
