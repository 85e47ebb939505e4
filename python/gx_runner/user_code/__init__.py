"""The code of a project beside its graphs: `auth.path`, `encryption.path`, `http.app`."""
