import { apiGroupOf, isJsonObject, type JsonObject } from '#pkg/apimachinery/index';
import { consolePageKind, consolePageType } from '#pkg/apis/index';
import { formatPlace, type PresetObject } from '../preset/preset-object.ts';
import { newPagesInvalid } from './read-plugin-files.ts';

/** Nobody reads a longer menu. The console shows as many of one plugin. */
const maxActions = 20;

/** Undefined for what is no ConsolePage. */
export function specOfPage({ object }: PresetObject): JsonObject | undefined {
  if (object.kind !== consolePageKind || apiGroupOf(object.apiVersion) !== consolePageType.group) return undefined;
  return isJsonObject(object['spec']) ? object['spec'] : undefined;
}

/** @throws PluginError PagesInvalid for the first action of a model, or command, that is one too many */
export function refuseTooManyActions(presets: readonly PresetObject[]): void {
  const counts = new Map<string, number>();
  for (const preset of presets) {
    const { place, model } = specOfPage(preset) ?? {};
    const what =
      place === 'command' ? 'commands' : place === 'objectAction' ? `actions of ${JSON.stringify(model)}` : undefined;
    if (what === undefined) continue;
    const count = (counts.get(what) ?? 0) + 1;
    if (count > maxActions)
      throw newPagesInvalid(formatPlace(preset), `spec.place: a plugin may have ${maxActions} ${what}, and no more`);
    counts.set(what, count);
  }
}
