import { createHash } from 'node:crypto';
import { runInTurns, type JsonObject, type Model, type ModelVersion, type SlicedWork } from '#pkg/apimachinery/index';

/** The part of a document for one version of one model: JSON texts, created once. */
export interface DocumentFragment {
  /** By path template. */
  paths: readonly (readonly [string, string])[];
  schemas: readonly (readonly [string, string])[];
  tags: readonly string[];
  /** Hash of all texts. */
  hash: string;
}

export interface FragmentParts {
  paths: Iterable<[string, JsonObject]>;
  schemas: Iterable<[string, JsonObject]>;
  tags?: readonly JsonObject[];
}

/**
 * `JSON.stringify` escapes all characters that could end a string, also lone surrogates, so texts of a model stay
 * strings.
 */
export function* newFragment({ paths, schemas, tags = [] }: FragmentParts): SlicedWork<DocumentFragment> {
  const fragment = {
    paths: yield* texts(paths),
    schemas: yield* texts(schemas),
    tags: tags.map((tag) => JSON.stringify(tag)),
  };
  const hash = createHash('sha256');
  for (const [name, text] of [...fragment.paths, ...fragment.schemas]) {
    hash.update(`${name}\n${text}\n`);
    yield;
  }
  for (const text of fragment.tags) hash.update(`${text}\n`);
  return { ...fragment, hash: hash.digest('hex') };
}

function* texts(members: Iterable<[string, JsonObject]>): SlicedWork<[string, string][]> {
  const made: [string, string][] = [];
  for (const [name, value] of members) {
    made.push([name, JSON.stringify(value)]);
    yield;
  }
  return made;
}

/** Creates the part of a document for a model's version, in slices: a schema may have tens of thousands of parts. */
export type FragmentMaker = (model: Model, version: ModelVersion) => SlicedWork<FragmentParts>;

/** Caches the fragments of a model as long as the model object exists: a changed model is a new object. */
export class FragmentCache {
  readonly #make: FragmentMaker;
  readonly #kept = new WeakMap<Model, Map<string, DocumentFragment | Promise<DocumentFragment>>>();

  constructor(make: FragmentMaker) {
    this.#make = make;
  }

  /** A promise only if it is not created yet; concurrent callers share it. */
  get(model: Model, version: ModelVersion): DocumentFragment | Promise<DocumentFragment> {
    const ofModel = this.#kept.get(model) ?? new Map<string, DocumentFragment | Promise<DocumentFragment>>();
    this.#kept.set(model, ofModel);
    const known = ofModel.get(version.name);
    if (known !== undefined) return known;
    const making = runInTurns(this.#making(model, version));
    ofModel.set(version.name, making);
    making.then(
      (fragment) => ofModel.set(version.name, fragment),
      () => ofModel.delete(version.name),
    );
    return making;
  }

  *#making(model: Model, version: ModelVersion): SlicedWork<DocumentFragment> {
    return yield* newFragment(yield* this.#make(model, version));
  }
}

/** A JSON object's text in pieces; of two members with one name the later wins. */
export function objectPieces(members: Iterable<readonly [string, string]>): string[] {
  const pieces: string[] = [];
  for (const [name, text] of new Map(members))
    pieces.push(pieces.length === 0 ? '{' : ',', `${JSON.stringify(name)}:${text}`);
  return pieces.length === 0 ? ['{}'] : [...pieces, '}'];
}
