package source

// In a browser there is no source to search: only locks of this project are played there.

// Shared returns nothing.
func Shared(string, []string) (string, error) { return "", nil }

// MayCallPackageTime returns nothing.
func MayCallPackageTime(string, []string) string { return "" }
