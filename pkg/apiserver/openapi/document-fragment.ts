import { createHash } from 'node:crypto';
import type { JsonObject, Model, ModelVersion } from '#pkg/apimachinery/index';

/** What one version of one model adds to a document: JSON texts, made once. */
export interface DocumentFragment {
  /** By path template. */
  paths: readonly (readonly [string, string])[];
  schemas: readonly (readonly [string, string])[];
  tags: readonly string[];
  /** Of all texts. */
  hash: string;
}

export interface FragmentParts {
  paths: Iterable<[string, JsonObject]>;
  schemas: Iterable<[string, JsonObject]>;
  tags?: readonly JsonObject[];
}

/** `JSON.stringify` escapes all that could end a string, lone surrogates included: texts of a model stay texts. */
export function newFragment({ paths, schemas, tags = [] }: FragmentParts): DocumentFragment {
  const fragment = { paths: texts(paths), schemas: texts(schemas), tags: tags.map((tag) => JSON.stringify(tag)) };
  const hash = createHash('sha256');
  for (const [name, text] of [...fragment.paths, ...fragment.schemas]) hash.update(`${name}\n${text}\n`);
  for (const text of fragment.tags) hash.update(`${text}\n`);
  return { ...fragment, hash: hash.digest('hex') };
}

function texts(members: Iterable<[string, JsonObject]>): [string, string][] {
  return Array.from(members, ([name, value]) => [name, JSON.stringify(value)]);
}

/** Keeps the fragments of a model for as long as the model itself is kept: a changed model is another. */
export class FragmentCache {
  private readonly make: (model: Model, version: ModelVersion) => FragmentParts;
  private readonly kept = new WeakMap<Model, Map<string, DocumentFragment>>();

  constructor(make: (model: Model, version: ModelVersion) => FragmentParts) {
    this.make = make;
  }

  get(model: Model, version: ModelVersion): DocumentFragment {
    const ofModel = this.kept.get(model) ?? new Map<string, DocumentFragment>();
    this.kept.set(model, ofModel);
    let fragment = ofModel.get(version.name);
    if (fragment === undefined) {
      fragment = newFragment(this.make(model, version));
      ofModel.set(version.name, fragment);
    }
    return fragment;
  }
}

/** A JSON object's text in pieces; of two members of one name the later one stays. */
export function objectPieces(members: Iterable<readonly [string, string]>): string[] {
  const pieces: string[] = [];
  for (const [name, text] of new Map(members)) pieces.push(pieces.length === 0 ? '{' : ',', `${JSON.stringify(name)}:${text}`);
  return pieces.length === 0 ? ['{}'] : [...pieces, '}'];
}
