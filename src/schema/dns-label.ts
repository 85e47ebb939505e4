/** A DNS label (RFC 1123), the form of Kubernetes names. */
export const DNS_LABEL = '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$';
