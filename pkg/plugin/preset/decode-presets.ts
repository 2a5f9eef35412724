import {
  checkMetadataShape,
  decodeJson,
  decodeYamlInTurns,
  isJsonObject,
  isStatusError,
  platformKeyFindings,
  type ApiObject,
  type DecodeResult,
  type JsonObject,
  type ObjectMeta,
} from '#pkg/apimachinery/index';
import { PluginError } from '../plugin-error.ts';
import { presetLimits } from './preset-limits.ts';
import { formatPlace, type PresetObject } from './preset-object.ts';

/**
 * Decodes the objects of one file: YAML documents between `---`, or JSON. Removes metadata that a server sets, as in an
 * exported object.
 * @param file as its messages name it
 * @throws PluginError PresetsInvalid that names the document
 */
export async function decodePresets(file: string, bytes: Buffer): Promise<PresetObject[]> {
  const presets: PresetObject[] = [];
  const texts = file.endsWith('.json') ? [bytes] : splitDocuments(file, bytes);
  for (const text of texts) {
    if (presets.length === presetLimits.objects)
      throw newInvalidDocument(
        { file, document: presets.length + 1 },
        `a plugin may ship ${presetLimits.objects} objects, and no more`,
      );
    const place = { file, document: presets.length + 1 };
    const found = await decode(place, () => (file.endsWith('.json') ? decodeJson(text) : decodeYamlInTurns(text)));
    presets.push({ ...place, object: readObject(place, found) });
  }
  return presets;
}

/** YAML allows no line that starts with `---` inside a scalar, so such a line always starts a document. */
function splitDocuments(file: string, bytes: Buffer): Buffer[] {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw newInvalidDocument({ file, document: 1 }, 'it is not valid UTF-8', error);
  }
  return text
    .split(/(?<=^|\n)---(?=[ \t\r\n]|$)/u)
    .filter((document) => !document.split('\n').every(isBlankLine))
    .map((document) => Buffer.from(document));
}

/** Not a regular expression: with whitespace at both ends it takes quadratic time in the length of a line. */
function isBlankLine(line: string): boolean {
  const text = line.trim();
  return text === '' || text === '...' || text === '%YAML 1.2' || text.startsWith('#');
}

type Place = Pick<PresetObject, 'file' | 'document'>;

async function decode(place: Place, work: () => DecodeResult | Promise<DecodeResult>): Promise<DecodeResult> {
  try {
    return await work();
  } catch (error) {
    if (!isStatusError(error)) throw error;
    throw newInvalidDocument(place, error.message.replace('the body of the request', 'it'), error);
  }
}

function readObject(place: Place, { value, duplicates, dropped }: DecodeResult): ApiObject & JsonObject {
  const [twice] = duplicates;
  const [forbidden] = dropped;
  if (twice !== undefined) throw newInvalidDocument(place, `the field ${twice} is given twice`);
  if (forbidden !== undefined) throw newInvalidDocument(place, `the field ${forbidden} may not be`);
  if (!isJsonObject(value)) throw newInvalidDocument(place, 'it must be an object');
  const { apiVersion, kind } = value;
  if (typeof apiVersion !== 'string' || !/^(?:[^/]{1,253}\/)?[^/]{1,63}$/.test(apiVersion))
    throw newInvalidDocument(place, 'apiVersion must be <group>/<version>');
  if (typeof kind !== 'string' || kind === '' || kind.length > 63)
    throw newInvalidDocument(place, 'kind must be the name of a kind');
  return { ...value, apiVersion, kind, metadata: readMetadata(place, value) } as ApiObject & JsonObject;
}

function readMetadata(place: Place, object: JsonObject): ObjectMeta {
  let unknown: string | undefined;
  try {
    [unknown] = checkMetadataShape(object);
  } catch (error) {
    throw newInvalidDocument(place, error instanceof Error ? error.message : 'metadata is not valid', error);
  }
  const { metadata = {} } = object;
  if (unknown !== undefined) throw newInvalidDocument(place, `the field ${unknown} is not known`);
  const { name, generateName, namespace, labels, annotations, finalizers, ownerReferences } =
    metadata as unknown as Partial<ObjectMeta>;
  if (generateName !== undefined)
    throw newInvalidDocument(place, 'metadata.generateName may not be: a preset is found again by its name');
  if (ownerReferences !== undefined)
    throw newInvalidDocument(
      place,
      'metadata.ownerReferences may not be: an owner is named by a uid, which cannot be known',
    );
  if (name === undefined || name === '') throw newInvalidDocument(place, 'metadata.name is missing');
  const [finding] = platformKeyFindings({ labels, annotations, finalizers });
  if (finding !== undefined) throw newInvalidDocument(place, finding);
  return {
    name,
    ...(namespace === undefined || namespace === '' ? {} : { namespace }),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(finalizers === undefined ? {} : { finalizers }),
  };
}

function newInvalidDocument(place: Place, message: string, cause?: unknown): PluginError {
  return new PluginError({ reason: 'PresetsInvalid', message: `${formatPlace(place)}: ${message}`, cause });
}
