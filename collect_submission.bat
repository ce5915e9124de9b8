@echo off
rem Puts the deliverables into submission.zip: collect_submission.bat [--allow-missing]; or, with
rem --for-gpu, your code and the data into for_gpu.zip, for train_on_gpu.ipynb. All options: --help
"%~dp0run.bat" collect %*
