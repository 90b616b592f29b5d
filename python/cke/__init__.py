# SPDX-License-Identifier: MIT
"""cke runs language models that are compiled for the machine they run on.

    import cke

    with cke.Model("Qwen3-0.6B") as model:
        print(model.generate("Once upon a time", max_tokens=100))
"""
from .answer import Answer, Events, Usage
from .chat import ChatAnswer, Reply
from .decoder import Decoder
from .errors import Error, FileError, UsageError
from .model import Model, build
from .options import Options
from .session import Session

__version__ = "0.1.0"
__all__ = ["Answer", "ChatAnswer", "Decoder", "Error", "Events", "FileError", "Model", "Options", "Reply", "Session",
           "Usage", "UsageError", "build"]
