import { isJsonObject, type JsonObject } from '#pkg/apimachinery/index';
import { doNotOverwriteLabel } from '#pkg/apis/index';
import { formatPlace, type PresetObject } from '../preset/preset-object.ts';
import { specOfPage } from './page-actions.ts';
import type { PluginFiles } from './plugin-files.ts';
import { newPagesInvalid } from './read-plugin-files.ts';

/**
 * The presets, in which each page with a frame names the content of its files: a change of a file is a change of the
 * object, so whoever follows the objects notices.
 * @throws PluginError PagesInvalid for a page whose file the plugin does not have, or that a start does not overwrite
 */
export function withFrameHashes(presets: readonly PresetObject[], files: PluginFiles): PresetObject[] {
  return presets.map((preset) => {
    const { object } = preset;
    const spec = specOfPage(preset);
    const frame = spec?.['frame'];
    if (!isJsonObject(frame)) return preset;
    const { file } = frame;
    if (typeof file !== 'string' || !files.has(file))
      throw newPagesInvalid(
        formatPlace(preset),
        `spec.frame.file: the plugin has no file ${JSON.stringify(file)} in ui/, and none is made from pages/`,
      );
    if (object.metadata.labels?.[doNotOverwriteLabel] === 'true')
      throw newPagesInvalid(
        formatPlace(preset),
        `a page with a frame cannot have the label ${doNotOverwriteLabel}: it changes with its files`,
      );
    const withHash: JsonObject = { ...spec, frame: { ...frame, hash: files.hash } };
    return { ...preset, object: { ...object, spec: withHash } as PresetObject['object'] };
  });
}
