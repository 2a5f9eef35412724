import type { ModelInfo } from './model-info.ts';

/** A built-in model of the console itself, `console.svc.run/v1alpha1`. */
export function consoleModel(kind: string, plural: string): ModelInfo {
  return {
    group: 'console.svc.run',
    version: 'v1alpha1',
    kind,
    plural,
    namespaced: false,
    hasStatusSubresource: false,
    verbs: [],
    shortNames: [],
    versions: ['v1alpha1'],
  };
}
