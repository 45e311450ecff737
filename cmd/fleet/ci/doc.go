// Package ci tests the files that people put into their own pipelines, in docs/ci: they obey their schemas, and their scripts do what they
// should, here in bash and without a container. What only a service can do, such as handing an artifact from one machine to the next, the
// tests do with directories.
package ci
