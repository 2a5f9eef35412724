import { ofKind, podsOf, selects, titleOf, type Labels, type Release, type Selector } from './release.ts';

/** A selector of pods or Services selects exactly those of one component. */
export function selectorsMatch(release: Release): string[] {
  const pods = podsOf(release);
  const counted = (title: string, selector: Selector, labelled: readonly { labels: Labels }[]): string[] => {
    const found = labelled.filter(({ labels }) => selects(selector, labels)).length;
    return found === 1 ? [] : [`${title} selects ${found} instead of one`];
  };
  const services = ofKind(release, 'Service').map(({ metadata }) => ({ labels: metadata.labels ?? {} }));
  const deployments = new Set(ofKind(release, 'Deployment').map(({ metadata }) => metadata.name));
  return [
    ...ofKind(release, 'Deployment').flatMap((document) =>
      counted(titleOf(document), (document['spec'] as { selector: Selector }).selector, pods),
    ),
    ...ofKind(release, 'Service').flatMap((document) =>
      counted(titleOf(document), { matchLabels: (document['spec'] as { selector: Labels }).selector }, pods),
    ),
    ...ofKind(release, 'PodDisruptionBudget').flatMap((document) =>
      counted(titleOf(document), (document['spec'] as { selector: Selector }).selector, pods),
    ),
    ...ofKind(release, 'NetworkPolicy').flatMap((document) =>
      counted(titleOf(document), (document['spec'] as { podSelector: Selector }).podSelector, pods),
    ),
    ...ofKind(release, 'ServiceMonitor').flatMap((document) =>
      counted(titleOf(document), (document['spec'] as { selector: Selector }).selector, services),
    ),
    // The operator creates the pods, with its own labels.
    ...ofKind(release, 'PodMonitor').flatMap((document) =>
      counted(
        titleOf(document),
        (document['spec'] as { selector: Selector }).selector,
        ofKind(release, 'Cluster').map(({ metadata }) => ({ labels: { 'cnpg.io/cluster': metadata.name } })),
      ),
    ),
    ...ofKind(release, 'HorizontalPodAutoscaler').flatMap((document) => {
      const {
        scaleTargetRef: { name },
      } = document['spec'] as { scaleTargetRef: { name: string } };
      const { replicas } = (ofKind(release, 'Deployment').find(({ metadata }) => metadata.name === name)?.['spec'] ??
        {}) as { replicas?: number };
      if (!deployments.has(name)) return [`${titleOf(document)} scales nothing`];
      // Output that is rendered without the cluster and applied again would reset it.
      return replicas === undefined
        ? []
        : [`${titleOf(document)}: the Deployment says ${replicas} replicas, which autoscaling decides`];
    }),
  ];
}
