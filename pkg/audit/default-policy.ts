/** The policy of a server whose operator gives none: each write is recorded, without its content. YAML. */
export const defaultPolicyText = `apiVersion: audit.k8s.io/v1
kind: Policy
# One event for a request, when it is answered.
omitStages: [RequestReceived]
# The first rule that matches decides. A request that matches no rule, such as a read, is not recorded.
rules:
  # Changes of the server itself, such as its log level.
  - level: Metadata
    verbs: [put]
    nonResourceURLs: ['/debug/*']
  # Other requests that are not for a resource.
  - level: None
    nonResourceURLs: ['*']
  # A review is a question: it stores nothing.
  - level: None
    verbs: [create]
    resources:
      - group: authentication.k8s.io
        resources: [selfsubjectreviews, tokenreviews]
      - group: authorization.k8s.io
        resources: [localsubjectaccessreviews, selfsubjectaccessreviews, selfsubjectrulesreviews, subjectaccessreviews]
  # Leaders renew their leases, and controllers store their resume positions, every few seconds.
  - level: None
    verbs: [update, patch]
    resources:
      - group: coordination.k8s.io
        resources: [leases]
  # Events that the platform's own parts report.
  - level: None
    users: ['system:apiserver', 'system:controller-manager']
    verbs: [create, update, patch]
    resources:
      - group: ''
        resources: [events]
      - group: events.k8s.io
        resources: [events]
  - level: None
    userGroups: ['system:controllers', 'system:plugins']
    verbs: [create, update, patch]
    resources:
      - group: ''
        resources: [events]
      - group: events.k8s.io
        resources: [events]
  # All other writes, also of subresources.
  - level: Metadata
    verbs: [create, update, patch, delete, deletecollection]
`;
