import type { JsonObject } from '#pkg/apimachinery/index';
import { ConversionNeeded, type ConvertObject } from '#pkg/managedfields/index';
import type { JsonApiObject } from '../../rest/strategy.ts';
import type { VersionConverter } from '../model/version-converter.ts';

/** Conversions of one write: each of up to 20 versions needs several objects. */
const maxConversions = 200;

/**
 * Lets synchronous code use objects in other versions: the code stops where it needs one, the webhook converts it, and
 * the code runs again. Keeps what it has for the write, whose attempts need mostly the same.
 */
export class ObjectConversions {
  readonly converter: VersionConverter;
  readonly #known = new Map<string, JsonObject>();

  constructor(converter: VersionConverter) {
    this.converter = converter;
  }

  readonly convert: ConvertObject = (object, apiVersion) => {
    if (object['apiVersion'] === apiVersion) return object;
    // An object that does not exist yet has no version.
    if (object['metadata'] === undefined) return { ...object, apiVersion };
    const known = this.#known.get(keyOf(object, apiVersion));
    if (known === undefined) throw new ConversionNeeded(object, apiVersion);
    return known;
  };

  /** The result of `work`, which runs again after each conversion that it needs. */
  async run<T>(work: () => T | Promise<T>, signal: AbortSignal): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof ConversionNeeded) || this.#known.size >= maxConversions) throw error;
        await this.#add(error, signal);
      }
    }
  }

  async #add({ object, apiVersion }: ConversionNeeded, signal: AbortSignal): Promise<void> {
    const { resourceVersion, managedFields: _, ...metadata } = object['metadata'] as JsonObject;
    const [converted] = await this.converter.convert(
      [{ ...object, metadata } as unknown as JsonApiObject],
      apiVersion,
      {
        lengths: [0],
        signal,
      },
    );
    const result = converted as JsonObject;
    if (resourceVersion !== undefined) (result['metadata'] as JsonObject)['resourceVersion'] = resourceVersion;
    this.#known.set(keyOf(object, apiVersion), result);
  }
}

function keyOf(object: JsonObject, apiVersion: string): string {
  return `${apiVersion} ${JSON.stringify(object)}`;
}
