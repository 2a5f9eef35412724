import { createHash } from 'node:crypto';
import { runInTurns, type JsonObject, type Model, type ModelVersion, type SlicedWork } from '#pkg/apimachinery/index';

/** The part of a document for one version of one model, created once: JSON texts, or messages of protobuf. */
export interface DocumentFragment<Piece extends string | Buffer = string> {
  /** By path template. */
  paths: readonly (readonly [string, Piece])[];
  schemas: readonly (readonly [string, Piece])[];
  tags: readonly Piece[];
  /** Hash of all pieces. */
  hash: string;
}

export interface FragmentParts {
  paths: Iterable<[string, JsonObject]>;
  schemas: Iterable<[string, JsonObject]>;
  tags?: readonly JsonObject[];
}

/** Writes one path, schema or tag in the format of a document. */
export interface PieceWriters<Piece extends string | Buffer> {
  path(name: string, item: JsonObject): SlicedWork<Piece>;
  schema(name: string, schema: JsonObject): SlicedWork<Piece>;
  tag(tag: JsonObject): Piece;
}

/**
 * `JSON.stringify` escapes all characters that could end a string, also lone surrogates, so texts of a model stay
 * strings.
 */
export const jsonWriters: PieceWriters<string> = {
  path: jsonText,
  schema: jsonText,
  tag: (tag) => JSON.stringify(tag),
};

// oxlint-disable-next-line require-yield -- One text cannot be written in slices.
function* jsonText(_name: string, value: JsonObject): SlicedWork<string> {
  return JSON.stringify(value);
}

export function* newFragment<Piece extends string | Buffer>(
  { paths, schemas, tags = [] }: FragmentParts,
  writers: PieceWriters<Piece>,
): SlicedWork<DocumentFragment<Piece>> {
  const fragment = {
    paths: yield* piecesOf(paths, (name, item) => writers.path(name, item)),
    schemas: yield* piecesOf(schemas, (name, schema) => writers.schema(name, schema)),
    tags: tags.map((tag) => writers.tag(tag)),
  };
  const hash = createHash('sha256');
  for (const [name, piece] of [...fragment.paths, ...fragment.schemas]) {
    hash.update(`${name}\n`).update(piece).update('\n');
    yield;
  }
  for (const piece of fragment.tags) hash.update(piece).update('\n');
  return { ...fragment, hash: hash.digest('hex') };
}

function* piecesOf<Piece>(
  members: Iterable<[string, JsonObject]>,
  write: (name: string, value: JsonObject) => SlicedWork<Piece>,
): SlicedWork<[string, Piece][]> {
  const made: [string, Piece][] = [];
  for (const [name, value] of members) {
    made.push([name, yield* write(name, value)]);
    yield;
  }
  return made;
}

/** Creates the part of a document for a model's version, in slices: a schema may have tens of thousands of parts. */
export type FragmentMaker = (model: Model, version: ModelVersion) => SlicedWork<FragmentParts>;

/** Caches the fragments of a model as long as the model object exists: a changed model is a new object. */
export class FragmentCache<Piece extends string | Buffer = string> {
  readonly #make: FragmentMaker;
  readonly #writers: PieceWriters<Piece>;
  readonly #kept = new WeakMap<Model, Map<string, DocumentFragment<Piece> | Promise<DocumentFragment<Piece>>>>();

  constructor(make: FragmentMaker, writers: PieceWriters<Piece>) {
    this.#make = make;
    this.#writers = writers;
  }

  /** A promise only if it is not created yet; concurrent callers share it. */
  get(model: Model, version: ModelVersion): DocumentFragment<Piece> | Promise<DocumentFragment<Piece>> {
    const ofModel =
      this.#kept.get(model) ?? new Map<string, DocumentFragment<Piece> | Promise<DocumentFragment<Piece>>>();
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

  *#making(model: Model, version: ModelVersion): SlicedWork<DocumentFragment<Piece>> {
    return yield* newFragment(yield* this.#make(model, version), this.#writers);
  }
}

/** A JSON object's text in pieces; of two members with one name the later wins. */
export function objectPieces(members: Iterable<readonly [string, string]>): string[] {
  const pieces: string[] = [];
  for (const [name, text] of new Map(members))
    pieces.push(pieces.length === 0 ? '{' : ',', `${JSON.stringify(name)}:${text}`);
  return pieces.length === 0 ? ['{}'] : [...pieces, '}'];
}
