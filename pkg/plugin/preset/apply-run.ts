import { isFenceLost, isStatusError, type AnyObject, type Client, type Stored } from '#pkg/apimachinery/index';
import { definitionType, isEstablished, type CustomResourceDefinition, type PresetRecord } from '#pkg/apis/index';
import type { Log } from '#pkg/runtime/index';
import { servedAgain } from '../model/served-versions.ts';
import { PluginError } from '../plugin-error.ts';
import type { Inventory } from './inventory.ts';
import type { PlannedPreset } from './plan-presets.ts';
import { isSameContent, newObject, updatedObject } from './preset-content.ts';
import { isDefinitionKind } from './preset-kinds.ts';
import { formatObject, formatPlace } from './preset-object.ts';
import { decideApply, type ApplyDecision } from './preset-rules.ts';
import { retryRaces, VanishedError } from './retry-races.ts';
import { pollForResult, readStored } from './stored-preset.ts';

export interface ApplyRunOptions {
  client: Client;
  log: Log;
  plugin: string;
  inventory: Inventory;
  /** How long to wait until a deleted object is gone, and until a definition is served. */
  waitMs: number;
  signal: AbortSignal;
}

/** Applies the presets in one start. */
export class ApplyRun {
  readonly #options: ApplyRunOptions;

  constructor(options: ApplyRunOptions) {
    this.#options = options;
  }

  /**
   * The records that the inventory must have before any preset is written; none for kinds that are not served yet.
   * @throws PluginError PresetTaken
   */
  async records(planned: readonly PlannedPreset[]): Promise<PresetRecord[]> {
    const records: PresetRecord[] = [];
    for (const each of planned) {
      const { verdict, record } = await retryRaces(this.#options.signal, () => this.#judge(each));
      if (verdict === undefined || verdict.type === 'wait') records.push(...(record === undefined ? [] : [record]));
      else records.push(this.#accept(each, verdict).record);
    }
    return records;
  }

  /** Creates or updates one object as shipped; returns its record if it belongs to a user. */
  async settle(planned: PlannedPreset): Promise<PresetRecord | undefined> {
    try {
      const { record, type } = await retryRaces(this.#options.signal, () => this.#attempt(planned));
      if (isDefinitionKind(planned.shipped)) await this.#untilServed(planned);
      return record.adopted === true && type === 'update' ? record : undefined;
    } catch (error) {
      throw this.#refusal(planned, error);
    }
  }

  async #attempt(planned: PlannedPreset): Promise<Accepted> {
    const { client, log, plugin, inventory, signal } = this.#options;
    const { type, shipped } = planned;
    const { stored, verdict } = await this.#judge(planned);
    if (verdict?.type === 'wait') {
      await this.#untilGone(planned, stored!.metadata.uid);
      return this.#attempt(planned);
    }
    const accepted = this.#accept(
      planned,
      verdict ?? decideApply({ plugin, shipped, record: undefined, stored: undefined }),
    );
    await inventory.put(accepted.record);
    const details = { plugin, preset: formatPlace(planned.preset), object: formatObject(accepted.record) };
    if (accepted.type === 'create') {
      await client.create(type, newObject(shipped, plugin), { signal });
      log.info(details, 'created a preset');
    } else if (accepted.type === 'update' && stored !== undefined) {
      const wanted = updatedObject(stored, shipped, { plugin, type });
      if (isSameContent(stored, wanted)) return accepted;
      await client.update(type, wanted, { signal }).catch(vanished(stored));
      log.info(
        details,
        accepted.record.adopted === true ? 'adopted an existing object as a preset' : 'updated a preset',
      );
    } else if (accepted.type === 'leave' && stored !== undefined && isDefinitionKind(shipped)) {
      // The owner does not matter: the plugin's stop took it out of service.
      const wanted = servedAgain(stored as Stored<CustomResourceDefinition>);
      if (wanted === stored) return accepted;
      await client.update(definitionType, wanted, { signal }).catch(vanished(stored));
      log.info(details, 'serving an unchanged definition again');
    }
    return accepted;
  }

  /** Without a verdict if the type is not served yet, because its definition is one of the presets. */
  async #judge({ type, key, shipped }: PlannedPreset): Promise<{
    verdict?: ApplyDecision;
    stored?: Stored<AnyObject>;
    record: PresetRecord | undefined;
  }> {
    const { client, plugin, inventory, signal } = this.#options;
    const record = inventory.find({ apiVersion: shipped.apiVersion, kind: shipped.kind, ...key });
    const stored = await readStored(client, type, key, signal);
    if (stored === 'unserved') return { record };
    return {
      verdict: decideApply({ plugin, shipped, record, stored }),
      ...(stored === undefined ? {} : { stored }),
      record,
    };
  }

  #accept({ preset, shipped }: PlannedPreset, verdict: ApplyDecision): Accepted {
    if (verdict.type !== 'refuse' && verdict.type !== 'wait') return verdict;
    const owner = verdict.type === 'refuse' ? verdict.owner : '';
    const object = formatObject({ ...shipped, ...shipped.metadata });
    throw new PluginError({
      reason: 'PresetTaken',
      message: `${formatPlace(preset)}: ${object} belongs to the plugin ${owner}: one object can be a preset of one plugin only`,
    });
  }

  async #untilGone({ preset, type, key }: PlannedPreset, uid: string): Promise<void> {
    const { client, waitMs, signal } = this.#options;
    let heldBy: readonly string[] = [];
    const gone = await pollForResult({ timeoutMs: waitMs, signal }, async () => {
      const stored = await readStored(client, type, key, signal);
      if (stored === undefined || stored === 'unserved' || stored.metadata.uid !== uid) return true;
      heldBy = stored.metadata.finalizers ?? [];
      return undefined;
    });
    if (gone === true) return;
    const object = formatObject({
      kind: type.kind,
      name: key.name,
      ...(key.namespace === '' ? {} : { namespace: key.namespace }),
    });
    throw new PluginError({
      reason: 'PresetTerminating',
      message: `${formatPlace(preset)}: ${object} is still being deleted after ${waitMs} ms: it is held by ${heldBy.join(', ') || 'nobody'}`,
    });
  }

  async #untilServed({ preset, key, shipped }: PlannedPreset): Promise<void> {
    const { client, waitMs, signal } = this.#options;
    const isMeant = hasServedVersion(shipped as CustomResourceDefinition);
    let last: string | undefined;
    const served = await pollForResult({ timeoutMs: waitMs, signal }, async () => {
      const definition = await client.get(definitionType, key, { signal });
      last = definition.status?.conditions?.find(
        (condition) => condition.type === 'NamesAccepted' && condition.status === 'False',
      )?.message;
      // A definition stays Established after it is no longer served.
      if (isMeant && !hasServedVersion(definition)) last = 'no version of it is served';
      else if (isEstablished(definition)) return true;
      return last === undefined ? undefined : false;
    });
    if (served === true) return;
    throw new PluginError({
      reason: 'PresetRefused',
      message: `${formatPlace(preset)}: the definition ${key.name} is not served: ${last ?? `nothing was decided within ${waitMs} ms`}`,
    });
  }

  /** Adds the preset's place to an error that a retry would not fix. */
  #refusal({ preset, shipped }: PlannedPreset, error: unknown): unknown {
    if (!isStatusError(error) || isFenceLost(error) || error.code >= 500 || error.code === 429) return error;
    const object = formatObject({ ...shipped, ...shipped.metadata });
    return new PluginError({
      reason: 'PresetRefused',
      message: `${formatPlace(preset)}: ${object} was refused: ${error.message}`,
      cause: error,
    });
  }
}

type Accepted = Exclude<ApplyDecision, { type: 'wait' | 'refuse' }>;

function hasServedVersion({ spec }: CustomResourceDefinition): boolean {
  return spec.versions.some(({ served }) => served);
}

function vanished({ metadata }: Stored<AnyObject>): (error: unknown) => never {
  return (error) => {
    throw isStatusError(error, 'NotFound') && error.details?.name === metadata.name
      ? new VanishedError(metadata.name)
      : error;
  };
}
