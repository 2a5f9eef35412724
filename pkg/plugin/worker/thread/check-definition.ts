import { isJsonObject } from '#pkg/apimachinery/index';
import type { PluginDefinition } from '../../definition/define-plugin.ts';

const shape = 'export default definePlugin({ models, controllers, endpoints })';
const maxCounts = { models: 100, controllers: 100, endpoints: 500 } as const;

/**
 * Checks that the default export of a plugin's module comes from `definePlugin`. @throws TypeError that says what it is
 * instead, and what to write
 */
export function checkDefinition(module: Readonly<Record<string, unknown>>): PluginDefinition {
  if (!('default' in module)) throw new TypeError(`the module has no default export; it must end with: ${shape}`);
  const definition = module['default'];
  if (!isJsonObject(definition))
    throw new TypeError(
      `the default export of the module is ${nameOf(definition)}, not a plugin; it must be: ${shape}`,
    );
  const { models, controllers, endpoints } = definition as unknown as Record<string, unknown>;
  for (const [name, list] of Object.entries({ models, controllers, endpoints })) {
    if (!Array.isArray(list))
      throw new TypeError(
        `the default export of the module has no list of ${name}: it was not made by definePlugin; it must be: ${shape}`,
      );
    if (list.length > maxCounts[name as keyof typeof maxCounts])
      throw new TypeError(
        `the plugin has ${list.length} ${name}: at most ${maxCounts[name as keyof typeof maxCounts]} are allowed`,
      );
  }
  (models as unknown[]).forEach((model, i) => {
    if (!isJsonObject(model) || !isJsonObject(model['definition']))
      throw new TypeError(`models[${i}] is ${nameOf(model)}, not what defineModel gives`);
  });
  (controllers as unknown[]).forEach(checkController);
  (endpoints as unknown[]).forEach((endpoint, i) => {
    if (!isJsonObject(endpoint) || typeof (endpoint as Record<string, unknown>)['handler'] !== 'function')
      throw new TypeError(`endpoints[${i}] is ${nameOf(endpoint)}, not what defineEndpoint gives`);
    for (const field of ['method', 'path', 'audience', 'group', 'version']) {
      if (typeof endpoint[field] !== 'string') throw new TypeError(`endpoints[${i}] has no ${field}`);
    }
  });
  return { models, controllers, endpoints } as PluginDefinition;
}

function checkController(controller: unknown, i: number): void {
  if (typeof controller === 'object' && controller !== null) {
    const { name, watches, begin, reconcile } = controller as Record<string, unknown>;
    if (typeof name === 'string' && Array.isArray(watches) && typeof begin === 'function') return;
    if (typeof reconcile === 'function')
      throw new TypeError(`controllers[${i}] is not finished: it must end with .reconcile(...)`);
  }
  throw new TypeError(`controllers[${i}] is ${nameOf(controller)}, not what controllerFor(...).reconcile(...) gives`);
}

function nameOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'another object' : `a ${typeof value}`;
}
